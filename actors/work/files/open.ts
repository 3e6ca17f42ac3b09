/**
 * What a client can do with the files inside a running Sandbox or Workspace. Every operation attaches by `attach.ts`, at one epoch (I8),
 * counts as activity while it goes on, and is carried out by programs inside (`box-script.ts`), whatever engine runs them.
 */
import type { Address } from '../../../src/api/address.js';
import { attachWhenRunning } from '../attach-when-running.js';
import type { AttachedWork, AttachDeps } from '../attach.js';
import { packDirectory, unpackArchive } from './archive.js';
import { listDirectory, type Listing } from './list.js';
import { openFile, openHashes, type OpenedFile } from './read.js';
import type { Preconditions } from './preconditions.js';
import { removeFile } from './remove.js';
import { WriteLocks } from './write-locks.js';
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

/** All refuse as `attach` does, and as `files/faults.ts` has it. What goes on ends with the signal. */
export interface Files {
  /** `use` gets the file; it is let go when that is done. */
  read<T>(place: FilePlace, use: (file: OpenedFile) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** `hold`: as of `listDirectory`. */
  list(place: FilePlace, signal: AbortSignal, hold?: (bytes: number) => void): Promise<Listing>;
  write(
    place: FilePlace,
    order: Omit<WriteOrder, 'path'>,
    body: AsyncIterator<Uint8Array>,
    signal: AbortSignal,
  ): Promise<Written>;
  remove(place: FilePlace, conditions: Preconditions, signal: AbortSignal): Promise<void>;
  /** `use` gets the archive's bytes. */
  pack<T>(
    place: FilePlace,
    use: (archive: AsyncGenerator<Uint8Array, void>) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
  unpack(place: FilePlace, body: AsyncIterator<Uint8Array>, signal: AbortSignal): Promise<{ readonly files: number }>;
}

export function openFiles(deps: AttachDeps): Files {
  const hashes = openHashes();
  const locks = new WriteLocks();

  /** What was asked for ends with the caller, and at the latest when it is answered. */
  async function within<T>(
    { owner, epoch, waitMs }: FilePlace,
    signal: AbortSignal,
    ask: (attached: AttachedWork, until: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const attached = await attachWhenRunning(owner, epoch, waitMs, deps, signal);
    const over = attached.begin();
    const ending = new AbortController();
    const stop = (): void => ending.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    try {
      signal.throwIfAborted();
      return await ask(attached, ending.signal);
    } finally {
      signal.removeEventListener('abort', stop);
      ending.abort();
      over();
    }
  }

  return {
    read: (place, use, signal) =>
      within(place, signal, async (attached, until) => use(await openFile(attached, place.path, hashes, until))),
    list: (place, signal, hold) =>
      within(place, signal, (attached, until) => listDirectory(attached, place.path, until, hold)),
    write: (place, order, body, signal) =>
      within(place, signal, (attached, until) =>
        writeFile(attached, { ...order, path: place.path }, body, { hashes, locks }, until),
      ),
    remove: (place, conditions, signal) =>
      within(place, signal, (attached, until) => removeFile(attached, place.path, conditions, locks, until)),
    pack: (place, use, signal) =>
      within(place, signal, (attached, until) => use(packDirectory(attached, place.path, until))),
    unpack: (place, body, signal) =>
      within(place, signal, (attached, until) => unpackArchive(attached, place.path, body, until)),
  };
}
