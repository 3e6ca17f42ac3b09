/**
 * Whether a runner's directories are still those that it was started on. They are others when the data directory was removed and a backup
 * was put in its place: by its paths the runner would then find another's journal, and no scratch. Such a runner is of no use.
 *
 * Each directory stays open, so its inode number is not given to another one while this runner lives.
 */
import { constants, fstatSync, openSync, statSync } from 'node:fs';

/** Throws when one is missing. */
export class OwnDirectories {
  private readonly opened: readonly { readonly path: string; readonly descriptor: number }[];

  constructor(paths: readonly string[]) {
    this.opened = paths.map((path) => ({
      path,
      descriptor: openSync(path, constants.O_RDONLY | constants.O_DIRECTORY),
    }));
  }

  /** The first path where another directory lies now, or none. Undefined as well when that cannot be found out. */
  replaced(): string | undefined {
    return this.opened.find(({ path, descriptor }) => {
      try {
        const [now, then] = [statSync(path), fstatSync(descriptor)];
        return now.ino !== then.ino || now.dev !== then.dev;
      } catch (error) {
        return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
      }
    })?.path;
  }
}
