/**
 * What a caller is refused with when a script fails: by the scripts' own exit codes, and by what the programs in them print about
 * the system's errors. Pure. Nothing that happens inside is a fault of the service (never a 500).
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
  unmatched: 77,
  matched: 78,
  overDirectory: 79,
} as const;

const WRITABLE = 'Write to a path below /workspace in a Sandbox, or below the home directory in a Workspace.';
/** It may have been a reading one. */
const PERMITTED =
  'Take a path that the user inside may use: one below /workspace in a Sandbox, or below the home directory in a Workspace.';

const MESSAGE_CHARACTERS = 300;

export function faultOf(exitCode: number, complaint: string, path: string): RefusalError {
  const at = quoted(path);
  switch (exitCode) {
    case EXIT.missing:
      return missing(at);
    case EXIT.directory:
      return refuse('BadRequest', `${at} is a directory`, {
        ...causedBy('FieldValueInvalid', 'is a directory'),
        fix: 'Add list=true for its entries, or use files/archive for its whole content.',
      });
    case EXIT.noDirectory:
      return refuse('BadRequest', `${at} is not a directory`, causedBy('FieldValueInvalid', 'is not a directory'));
    case EXIT.special:
      return refuse(
        'BadRequest',
        `${at} is not a regular file`,
        causedBy('FieldValueInvalid', 'is not a regular file'),
      );
    case EXIT.changed:
      return refuse('Conflict', `${at} changed while it was read`, { fix: 'Try again when no program writes to it.' });
    case EXIT.mount:
      return refuse('Conflict', `${at} is a mount point or contains one; nothing was deleted`, {
        ...causedBy('FieldValueInvalid', 'is a mount point or contains one'),
        fix: 'Delete the entries of a mount point one by one; the mount point itself stays.',
      });
    case EXIT.unmatched:
      return refuse('PreconditionFailed', `${at} is not as If-Match says; nothing was changed`, {
        fix: 'Read the file again, and send its ETag as If-Match.',
      });
    case EXIT.matched:
      return refuse('PreconditionFailed', `${at} is what If-None-Match excludes; nothing was changed`, {
        fix: 'Read the file: it is there already. Without If-None-Match it is replaced or deleted.',
      });
    case EXIT.overDirectory:
      return refuse('BadRequest', `${at} is a directory, and a file cannot take its place`, {
        ...causedBy('FieldValueInvalid', 'is a directory'),
        fix: 'Add the name of the file to the path; POST to files/archive writes a whole directory.',
      });
    default:
      return ofSystem(exitCode, complaint, at);
  }
}

function ofSystem(exitCode: number, complaint: string, at: string): RefusalError {
  const said = lastLine(complaint);
  if (isDiskFull(complaint)) return diskFull(at);
  if (/Read-only file system/.test(complaint)) {
    return refuse('Forbidden', `${at} is on a read-only file system`, { fix: WRITABLE });
  }
  if (/Permission denied|Operation not permitted/.test(complaint)) {
    return refuse('Forbidden', `permission denied for ${at}: ${said}`, { fix: PERMITTED });
  }
  if (/No such file or directory/.test(complaint)) return missing(at);
  if (/Device or resource busy/.test(complaint)) {
    return refuse('Conflict', `${at} is in use: ${said}`, {
      fix: 'A mount point cannot be deleted; delete its content instead.',
    });
  }
  if (
    /File exists|Not a directory|Is a directory|File name too long|Too many levels of symbolic links/.test(complaint)
  ) {
    return refuse('BadRequest', `${at} is not a usable path: ${said}`, causedBy('FieldValueInvalid', said));
  }
  return refuse('Invalid', `the file operation on ${at} failed: ${said === '' ? `exit code ${exitCode}` : said}`, {
    causes: [{ field: 'path', reason: 'FieldValueInvalid', message: said === '' ? `exit code ${exitCode}` : said }],
  });
}

function missing(at: string): RefusalError {
  return refuse('NotFound', `file ${at} not found`, {
    ...causedBy('NotFound', 'no such file or directory'),
    fix: 'Check the path. GET .../files with the path of its directory and list=true lists its entries.',
  });
}

export function diskFull(at: string): RefusalError {
  return refuse('FileTooLarge', `${at}: no space left on the disk of the Sandbox or Workspace`, {
    fix: 'Delete files, or raise spec.resources.disk.',
  });
}

export function overTheDisk(path: string, limit: number): RefusalError {
  return refuse('FileTooLarge', `${quoted(path)}: larger than the ${limit} bytes of the disk`, {
    fix: 'Send less, or raise spec.resources.disk.',
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
