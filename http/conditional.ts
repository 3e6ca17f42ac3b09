/** Compares entity tags of conditional requests with what is there (RFC 9110, 13.1). Pure. */

/** Whether `If-None-Match` names this tag: one of several, made weak by a proxy, or `*`. `etag`: without quotes. */
export function isHeldAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((part) => {
    const tag = part.trim();
    return tag === '*' || tag.replace(/^W\//, '') === `"${etag}"`;
  });
}

/** The tags that a condition names; `weakly`: those that a proxy made weak count as well. Undefined: no condition. */
export function tagsOf(header: string | undefined, weakly: boolean): '*' | readonly string[] | undefined {
  if (header === undefined) return undefined;
  const tags = header.split(',').map((part) => part.trim());
  if (tags.includes('*')) return '*';
  const form = weakly ? /^(?:W\/)?"([^"]*)"$/ : /^"([^"]*)"$/;
  return tags.flatMap((tag) => form.exec(tag)?.[1] ?? []);
}
