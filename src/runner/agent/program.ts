/**
 * Puts the agent together, the program that holds a box open (`agent.pl`), and writes it to where boxes see it.
 *
 * Reading a program is most of what it takes to start it. So comments are left out, and what most boxes never need (`agent-*.pl`) goes along
 * as a text that the agent compiles when something of it is wanted.
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { bareScript } from '../../engines/compute/shared/script.js';
import { isKnown, OWN } from '../isolation/calls.js';
import type { Holder } from '../isolation/isolation.js';

const AGENT = readFileSync(new URL('agent.pl', import.meta.url), 'utf8');
const COLD = [
  readFileSync(new URL('agent-cold.pl', import.meta.url), 'utf8'),
  readFileSync(new URL('agent-input.pl', import.meta.url), 'utf8'),
  readFileSync(new URL('agent-data.pl', import.meta.url), 'utf8'),
].join('');

/** Writes the agent to `path`. `marker` lets a following runner find what it runs as. */
export function writeAgent(path: string, perl: string, architecture: string, marker: string): Holder {
  // A box's user opens it.
  rmSync(path, { force: true });
  writeFileSync(path, agentProgram(), { mode: 0o444 });
  chmodSync(path, 0o444);
  // Elsewhere than on the machines known it goes without these calls.
  const calls = [OWN.setsid, OWN.prctl, OWN.splice].map((call) => (isKnown(architecture) ? call[architecture] : 0));
  return { interpreter: perl, program: path, args: [...calls.map(String), marker] };
}

/** The agent as it is read at each start. `more`: subs that know its variables, those of a zygote (`../zygote/zygote.pl`). */
export function agentProgram(more = ''): string {
  // Strictness is for those who change it; its module would be read too.
  const often = bareScript(AGENT + more).replace(/^use strict;\n/m, '');
  return `my $RARE = <<'RARE';\n${bareScript(COLD)}RARE\n${often}`;
}

/** The whole program as it is written, for checking. */
export function agentSource(more = ''): string {
  return `my $RARE = '';\n${AGENT}\n${COLD}\n${more}`;
}
