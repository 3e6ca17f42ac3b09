/**
 * Owns what can be done with the files inside a running Sandbox or Workspace. Everything enters by `entrance.ts`, at one epoch (I8), counts
 * as activity while it goes on, and is carried out by programs inside (`errand.ts`), whatever engine runs them.
 */
import type { Address } from '../../../src/api/address.js';
import { enterOnceStarted } from '../patience.js';
import type { Entered, EntranceDeps } from '../entrance.js';
import { packDirectory, unpackArchive } from './archive.js';
import { listDirectory, type Listing } from './list.js';
import { openFile, openHashes, type OpenedFile } from './read.js';
import { removeFile } from './remove.js';
import { writeFile, type WriteOrder, type Written } from './write.js';

export type { Entry, Listing } from './list.js';
export type { OpenedFile } from './read.js';
export type { WriteOrder, Written } from './write.js';

/** Which file of what. */
export interface FilePlace {
  readonly owner: Address;
  /** Absolute, without NUL. */
  readonly path: string;
  /** Only at this epoch. */
  readonly epoch?: number | undefined;
  /** For what is starting, so long. */
  readonly waitMs: number;
}

/** All refuse as `enter` does, and as `files/faults.ts` says. What goes on ends with the signal. */
export interface Files {
  /** `use` gets the file; it is let go when that is done. */
  read<T>(place: FilePlace, use: (file: OpenedFile) => Promise<T>, signal: AbortSignal): Promise<T>;
  list(place: FilePlace, signal: AbortSignal): Promise<Listing>;
  write(
    place: FilePlace,
    order: Omit<WriteOrder, 'path'>,
    body: AsyncIterator<Uint8Array>,
    signal: AbortSignal,
  ): Promise<Written>;
  remove(place: FilePlace, signal: AbortSignal): Promise<void>;
  /** `use` gets the archive's bytes. */
  pack<T>(
    place: FilePlace,
    use: (archive: AsyncGenerator<Uint8Array, void>) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
  unpack(place: FilePlace, body: AsyncIterator<Uint8Array>, signal: AbortSignal): Promise<{ readonly files: number }>;
}

export function openFiles(deps: EntranceDeps): Files {
  const hashes = openHashes();

  /** What was asked for ends with the caller, and at the latest when it is answered. */
  async function within<T>(
    { owner, epoch, waitMs }: FilePlace,
    signal: AbortSignal,
    ask: (entered: Entered, until: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const entered = await enterOnceStarted(owner, epoch, waitMs, deps, signal);
    const over = entered.begin();
    const ending = new AbortController();
    const stop = (): void => ending.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    try {
      signal.throwIfAborted();
      return await ask(entered, ending.signal);
    } finally {
      signal.removeEventListener('abort', stop);
      ending.abort();
      over();
    }
  }

  return {
    read: (place, use, signal) =>
      within(place, signal, async (entered, until) => use(await openFile(entered, place.path, hashes, until))),
    list: (place, signal) => within(place, signal, (entered, until) => listDirectory(entered, place.path, until)),
    write: (place, order, body, signal) =>
      within(place, signal, (entered, until) =>
        writeFile(entered, { ...order, path: place.path }, body, hashes, until),
      ),
    remove: (place, signal) => within(place, signal, (entered, until) => removeFile(entered, place.path, until)),
    pack: (place, use, signal) =>
      within(place, signal, (entered, until) => use(packDirectory(entered, place.path, until))),
    unpack: (place, body, signal) =>
      within(place, signal, (entered, until) => unpackArchive(entered, place.path, body, until)),
  };
}
