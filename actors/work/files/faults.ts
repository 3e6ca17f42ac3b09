/**
 * Owns what the caller is told when an errand fails: the scripts' own exit codes, and what the programs in them say of the system's
 * errors. Pure. Nothing that happens inside is a fault of the service (never a 500).
 */
import { refuse, type RefusalError } from '../../../src/api/refusal.js';

/** Exit codes of the scripts; those of the programs in them are below. */
export const EXIT = {
  missing: 71,
  directory: 72,
  noDirectory: 73,
  special: 74,
  changed: 75,
  mount: 76,
} as const;

const MESSAGE_CHARACTERS = 300;

export function faultOf(exitCode: number, complaint: string, path: string): RefusalError {
  const at = quoted(path);
  switch (exitCode) {
    case EXIT.missing:
      return missing(at);
    case EXIT.directory:
      return refuse('BadRequest', `${at} is a directory`, {
        ...causedBy('FieldValueInvalid', 'is a directory'),
        fix: 'Add list=true for its entries, or use files/archive for all that is in it.',
      });
    case EXIT.noDirectory:
      return refuse('BadRequest', `${at} is no directory`, causedBy('FieldValueInvalid', 'is no directory'));
    case EXIT.special:
      return refuse('BadRequest', `${at} is no regular file`, causedBy('FieldValueInvalid', 'is no regular file'));
    case EXIT.changed:
      return refuse('Conflict', `${at} is being changed; ask again`, { fix: 'Ask again when nothing writes to it.' });
    case EXIT.mount:
      return refuse('Conflict', `${at} is a mount point, or holds one: it was left as it is`, {
        ...causedBy('FieldValueInvalid', 'is a mount point, or holds one'),
        fix: 'A mount point stays; delete what is in it.',
      });
    default:
      return ofSystem(exitCode, complaint, at);
  }
}

function ofSystem(exitCode: number, complaint: string, at: string): RefusalError {
  const said = lastLine(complaint);
  if (isDiskFull(complaint)) return diskFull(at);
  if (/Read-only file system|Permission denied|Operation not permitted/.test(complaint)) {
    return refuse('Forbidden', `the system inside does not let this be done with ${at}: ${said}`, {
      fix: 'Use a path that can be written to, such as one below the working directory.',
    });
  }
  if (/No such file or directory/.test(complaint)) return missing(at);
  if (/Device or resource busy/.test(complaint)) {
    return refuse('Conflict', `${at} is in use: ${said}`, {
      fix: 'A directory that is a mount stays; delete what is in it.',
    });
  }
  if (
    /File exists|Not a directory|Is a directory|File name too long|Too many levels of symbolic links/.test(complaint)
  ) {
    return refuse('BadRequest', `${at} cannot be a path here: ${said}`, causedBy('FieldValueInvalid', said));
  }
  return refuse('Invalid', `this cannot be done with ${at}: ${said === '' ? `exit code ${exitCode}` : said}`, {
    causes: [{ field: 'path', reason: 'FieldValueInvalid', message: said === '' ? `exit code ${exitCode}` : said }],
  });
}

function missing(at: string): RefusalError {
  return refuse('NotFound', `there is no file ${at}`, {
    ...causedBy('NotFound', 'there is nothing at this path'),
    fix: 'Check the path; GET .../files with the path of its directory lists what is there.',
  });
}

export function diskFull(at: string): RefusalError {
  return refuse('FileTooLarge', `${at}: there is not enough space left on the disk inside`, {
    fix: 'Delete files, or make one with more resources.disk.',
  });
}

export function overTheDisk(path: string, limit: number): RefusalError {
  return refuse('FileTooLarge', `${quoted(path)}: more than the ${limit} bytes of the disk inside`, {
    fix: 'Send less, or make one with more resources.disk.',
  });
}

function causedBy(
  reason: string,
  message: string,
): { readonly causes: readonly [{ field: string; reason: string; message: string }] } {
  return { causes: [{ field: 'path', reason, message }] };
}

export function quoted(path: string): string {
  return JSON.stringify(path.slice(0, MESSAGE_CHARACTERS));
}

export function isDiskFull(complaint: string): boolean {
  return /No space left on device|Disk quota exceeded|File too large/.test(complaint);
}

function lastLine(complaint: string): string {
  return plainLines(complaint).at(-1) ?? '';
}

/** Short, and without control characters: it is written by whatever runs inside. */
export function plainLines(complaint: string): readonly string[] {
  return (
    complaint
      .split('\n')
      .filter((line) => line.trim() !== '')
      // eslint-disable-next-line no-control-regex -- they are what is taken out
      .map((line) => line.replace(/[\u0000-\u001f\u007f]/g, '?').slice(0, MESSAGE_CHARACTERS))
  );
}
