/** Small builders that the tests of the actors share. */
import type { Address } from '../../src/api/address.js';
import type { CommittedChange } from '../../storage/commit/request.js';

export const THING: Address = { org: 'acme', kind: 'Thing', project: 'default', name: 'one' };

export function change(version: number, after: Buffer = Buffer.from('{}'), address: Address = THING): CommittedChange {
  return { version, type: 'MODIFIED', address, uid: 'u-1', before: after, after };
}
