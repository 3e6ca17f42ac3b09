/**
 * Puts the zygote together, the program that makes boxes (`zygote.pl`): the agent with more subs, the numbers of system calls, and the filter
 * of system calls that each box takes.
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { agentProgram } from '../agent/program.js';
import { CHECKED, isKnown, OWN, REFUSED, type Architecture } from '../isolation/calls.js';

const SOURCE = readFileSync(new URL('zygote.pl', import.meta.url), 'utf8');

const { mount, umount2, pivot_root, open_tree, move_mount, mount_setattr, sethostname } = REFUSED;
const { clone, unshare } = CHECKED;
const CALLS = {
  mount,
  umount2,
  pivot_root,
  open_tree,
  move_mount,
  mount_setattr,
  sethostname,
  clone,
  unshare,
  ...OWN,
};

/** Writes the program to `path`, for the runner's own user alone. False on a machine whose numbers are not known here. */
export function writeZygote(path: string, architecture: string, filter: Buffer | undefined): boolean {
  if (!isKnown(architecture) || filter === undefined) return false;
  rmSync(path, { force: true });
  writeFileSync(path, agentProgram(zygoteSource(architecture, filter)), { mode: 0o400 });
  chmodSync(path, 0o400);
  return true;
}

function zygoteSource(architecture: Architecture, filter: Buffer): string {
  const numbers = Object.entries(CALLS).map(([name, call]) => `${name} => ${call?.[architecture]}`);
  const given = `%CALL = (${numbers.join(', ')}); $FILTER = pack 'H*', '${filter.toString('hex')}';`;
  return `our (%CALL, $FILTER);\nBEGIN { ${given} }\n${SOURCE}`;
}

/** As it is written, for checking. */
export function checkedZygoteSource(): string {
  return zygoteSource('x64', Buffer.alloc(8));
}
