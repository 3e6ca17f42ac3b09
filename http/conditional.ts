/** Compares entity tags of conditional requests with what is there (RFC 9110, 13.1). Pure. */

/** Whether `If-None-Match` names this tag: one of several, made weak by a proxy, or `*`. `etag`: without quotes. */
export function isHeldAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((part) => {
    const tag = part.trim();
    return tag === '*' || tag.replace(/^W\//, '') === `"${etag}"`;
  });
}
