/**
 * Tells what the machine cannot do now from what can never be done: a full disk may have room later, so what failed for it is tried
 * again. The words name no path of the machine, since clients read them. Pure.
 */

const FULL = "the machine's disk is full";
const BROKEN = "the machine's disk fails with input/output errors";
const READ_ONLY = "the machine's disk is read-only";
const TOO_LONG = 'the machine allows no file of that size';
const NO_MEMORY = 'the machine has no memory left';
const NO_FILES = 'the machine has too many open files';

const BY_CODE: Readonly<Record<string, string>> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EIO: BROKEN,
  EROFS: READ_ONLY,
  EFBIG: TOO_LONG,
  ENOMEM: NO_MEMORY,
  EAGAIN: NO_MEMORY,
  EMFILE: NO_FILES,
  ENFILE: NO_FILES,
};

/** What the machine's tools say (`LC_ALL=C`). */
const BY_WORDS: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|Disk quota exceeded/, FULL],
  [/Input\/output error/, BROKEN],
  [/Read-only file system/, READ_ONLY],
  [/File too large|File size limit exceeded/, TOO_LONG],
  [/Cannot allocate memory/, NO_MEMORY],
  [/Too many open files/, NO_FILES],
];

/** In words when `error` is a fault of the machine that may pass; undefined otherwise. The words of a tool are its `cause`. */
export function machineFault(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code];
  return typeof error.cause === 'string' ? machineFaultIn(error.cause) : undefined;
}

function machineFaultIn(words: string): string | undefined {
  return BY_WORDS.find(([pattern]) => pattern.test(words))?.[1];
}
