/** The key that seals browser sessions of tools (`http/tools/browser-sessions.ts`): one for all processes on this database, the same
 * after a restart. */
import { randomBytes } from 'node:crypto';
import { KEY_BYTES } from '../../http/tools/browser-sessions.js';
import type { MasterKeys } from '../../storage/envelope/master-key.js';
import type { Postgres } from '../../storage/postgres.js';
import { serviceKey } from '../../storage/service-keys.js';
import type { Log } from './log.js';

export async function openBrowserSessionKey(postgres: Postgres, keys: MasterKeys, log: Log): Promise<Uint8Array> {
  try {
    return await serviceKey(postgres, keys, 'tool-visits', () => randomBytes(KEY_BYTES));
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    log.warn({ reason }, 'the key of visits to tools cannot be opened: they end with this process');
    return randomBytes(KEY_BYTES);
  }
}
