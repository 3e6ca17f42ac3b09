/**
 * Ids of calls: this dialect takes few characters in them, and its vendor refuses a conversation that has others. What is written anew for it is
 * written back for the upstream that made the id. Pure.
 */
import { createHash } from 'node:crypto';

const SAFE = /^[\w-]+$/;
const OURS = 'call-';
/** Some servers bound ids to this. */
const LONGEST = 64;

export function idOf(id: string): string {
  if (SAFE.test(id) && id.length <= LONGEST) return id;
  const written = OURS + Buffer.from(id).toString('base64url');
  // Such a long one is not written back.
  return written.length <= LONGEST ? written : OURS + createHash('sha256').update(id).digest('base64url');
}

/** As its upstream has made it. */
export function madeIdOf(id: string): string {
  if (!id.startsWith(OURS)) return id;
  const made = Buffer.from(id.slice(OURS.length), 'base64url').toString('utf8');
  return !SAFE.test(made) && idOf(made) === id ? made : id;
}
