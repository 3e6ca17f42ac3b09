/** Finds the machine's own tools. */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** Absolute path of a program, in the usual places only: the runner's PATH is nobody's business. */
export function findProgram(name: string): string | undefined {
  return ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin']
    .map((directory) => join(directory, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
