/** Whether a path lies inside of another. Links are not followed. */
import { isAbsolute, relative } from 'node:path';

/** True when `path` is `parent` or lies below it. */
export function isInside(parent: string, path: string): boolean {
  const inner = relative(parent, path);
  return inner !== '..' && !inner.startsWith('../') && !isAbsolute(inner);
}
