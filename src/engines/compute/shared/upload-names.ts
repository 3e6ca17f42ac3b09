/**
 * The names that uploads into running work have until all of them has come (`actors/work/files/write.ts`). One that nobody finished, because the
 * service was killed, is no file of its owner: it is neither listed nor saved, and so is gone with the box.
 */
import { BRAND } from '../../../brand.js';

const PREFIX = `.${BRAND}-upload-`;
const HEX_DIGITS = 8;

/** `service`: eight hex digits, others in each process of the service. `*`: a pattern for all of it. */
export function uploadName(service: string, count: number | '*'): string {
  return `${PREFIX}${service}-${count}`;
}

/** Of the base name alone. */
export const UPLOAD_GLOB = `${PREFIX}${'[0-9a-f]'.repeat(HEX_DIGITS)}-[0-9]*`;

const REST = new RegExp(`^[0-9a-f]{${HEX_DIGITS}}-[0-9]`);

export function isUpload(name: string): boolean {
  return name.startsWith(PREFIX) && REST.test(name.slice(PREFIX.length));
}
