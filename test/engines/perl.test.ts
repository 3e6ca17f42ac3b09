/** The programs in Perl as they are written: each whole program is strict and free of warnings, and each file keeps to `.perlcriticrc`. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { boxProgram } from '../../src/engines/compute/docker/box-program.js';
import { lookCommand } from '../../src/engines/compute/shared/unlinked-files.js';
import { findProgram } from '../../src/engines/compute/shared/find-program.js';
import { agentProgram, agentSource } from '../../src/runner/agent/program.js';
import { checkedZygoteSource } from '../../src/runner/zygote/program.js';
import { extractCommand } from '../../src/runner/work/unpack.js';
import { underFilter } from '../../src/runner/isolation/filtered.js';

const HOME = fileURLToPath(new URL('../../../', import.meta.url));
const withPerl = findProgram('perl') === undefined ? test.skip : test;
const withCritic = findProgram('perlcritic') === undefined ? test.skip : test;

for (const [name, program = ''] of [
  ['the agent as it starts', agentProgram()],
  ['the agent with its cold part', agentSource()],
  ['the zygote', agentSource(checkedZygoteSource())],
  ['the program of a container', boxProgram('x64')],
  ['the unpacking of archives', extractCommand('perl', '/archive', [])[2]],
  ['the look for files without a name', lookCommand([])[2]],
  ['the start under the filter of system calls', underFilter('perl', 'x64', Buffer.alloc(8))[2]],
] as const) {
  withPerl(`${name} compiles as strict Perl without a warning`, (t) => {
    const checked = spawnSync('perl', ['-Mstrict', '-wc', '-'], { input: program, encoding: 'utf8' });
    t.is(checked.stderr.trim(), '- syntax OK');
  });
}

withCritic('perlcritic finds nothing in the programs', (t) => {
  const { status, stdout } = spawnSync('perlcritic', ['--profile', '.perlcriticrc', 'src'], {
    cwd: HOME,
    encoding: 'utf8',
  });
  t.is(status, 0, stdout);
});
