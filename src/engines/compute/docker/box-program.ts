/**
 * Puts the program of a container together (`box.pl`, `box-hold.pl`, `box-exec.pl`): the first process of every container, and the process that
 * each `exec` runs. It lies with its interpreter in a volume that every container has (`box-runtime-volume.ts`).
 */
import { readFileSync } from 'node:fs';
import { BRAND, WORK_ROOT } from '../../../brand.js';
import { FUNDING_GRACE_SECONDS } from '../contract/engine.js';
import { TOO_LONG } from '../shared/not-found.js';
import { bareScript } from '../shared/script.js';

/** `box.pl` is last: it begins the one or the other mode, when the variables of both are there. */
const SOURCE = [
  readFileSync(new URL('box-hold.pl', import.meta.url), 'utf8'),
  readFileSync(new URL('box-exec.pl', import.meta.url), 'utf8'),
  readFileSync(new URL('box.pl', import.meta.url), 'utf8'),
].join('');

/** Where the program and its interpreter lie in every container, read-only. */
export const BOX_RUNTIME_DIR = `/.${BRAND}-kit`;

/** Numbers of system calls, since no module brings them: prctl, clock_gettime, setsid, prlimit64. */
const CALLS: Readonly<Record<string, readonly [number, number, number, number]>> = {
  x64: [157, 228, 112, 302],
  arm64: [167, 113, 157, 261],
};

/** Undefined: the program does not know this processor. */
export function boxProgram(arch: string): string | undefined {
  const calls = CALLS[arch];
  if (calls === undefined) return undefined;
  const constants = `my $TOO_LONG = '${TOO_LONG}'; my $FUNDING_GRACE = ${FUNDING_GRACE_SECONDS * 1000}; my ($PRCTL, $CLOCK, $SETSID, $PRLIMIT) = (${calls.join(', ')}); my ($ROOT, $RUNTIME) = ('${WORK_ROOT}', '${BOX_RUNTIME_DIR}');`;
  return `${constants}\n${bareScript(SOURCE)}`;
}
