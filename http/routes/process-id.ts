/**
 * The ids of detached processes as clients see them: opaque, safe in a path, and each names the incarnation and the
 * epoch that it belongs to, so that it can be told from one of an epoch that is over (I8). Pure.
 */
import type { ProcessName } from '../../actors/work/commands.js';

/** Longest id that is looked at; ours have under 100 characters. */
const MAX_LENGTH = 256;
const TEXT = /^([\x21-\x7e]{1,64}) ([1-9]\d{0,9}) ([a-z0-9]{1,32})$/;

export function printProcessId({ uid, epoch, id }: ProcessName): string {
  return Buffer.from(`${uid} ${epoch} ${id}`).toString('base64url');
}

/** Undefined: it is none. */
export function parseProcessId(text: string): ProcessName | undefined {
  if (text.length > MAX_LENGTH || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  // One process, one id: what only decodes to it is none.
  if (bytes.toString('base64url') !== text) return undefined;
  const [, uid, epoch, id] = TEXT.exec(bytes.toString('latin1')) ?? [];
  if (uid === undefined || epoch === undefined || id === undefined) return undefined;
  return { uid, epoch: Number(epoch), id };
}
