/**
 * Runs a command under the filter of system calls where nothing else puts it on: by a few words of Perl (`filtered.pl`), which give the filter
 * to the kernel and become the command.
 */
import { readFileSync } from 'node:fs';
import { bareScript } from '../../engines/compute/shared/script.js';
import { isKnown, OWN } from './calls.js';

const SOURCE = bareScript(readFileSync(new URL('filtered.pl', import.meta.url), 'utf8'));

/** Words to put before a command; none on a machine that we have no filter for. */
export function underFilter(perl: string, architecture: string, filter: Buffer | undefined): readonly string[] {
  if (!isKnown(architecture) || filter === undefined) return [];
  const calls = [OWN.prctl[architecture], OWN.seccomp[architecture]];
  return [perl, '-e', SOURCE.trim().replaceAll('\n', ' '), ...calls.map(String), filter.toString('hex')];
}
