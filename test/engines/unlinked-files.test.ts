/** Every way in which a process holds a file that has no name any more is seen by the program that looks for them. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { MOST_UNLINKED, measureUnlinked, type Unlinked } from '../../src/engines/compute/shared/unlinked-files.js';
import { findProgram } from '../../src/engines/compute/shared/find-program.js';

const KiB = 1024;
const MAP = { x64: 9, arm64: 222 }[process.arch as string] ?? -1;
/** Of one thread. */
const EXIT = { x64: 60, arm64: 93 }[process.arch as string] ?? -1;
const withPerl = findProgram('perl') === undefined ? test.skip : test;
const withThreads = spawnSync('perl', ['-Mthreads', '-e', '1']).status === 0 ? test : test.skip;
// Only root is led to what others have mapped.
const asRoot = process.getuid?.() === 0 ? withPerl : test.skip;

/**
 * What a program in Perl holds after it has said so. It begins in a directory of its own. `late`: it is not in the kernel's list at first, as one
 * that begins while others are looked at.
 */
async function held(t: ExecutionContext, program: string, late = false): Promise<Unlinked | undefined> {
  const place = mkdtempSync(join(tmpdir(), 'troupe-unlinked-'));
  const common = `$| = 1; $data = "x" x 65536; sub big { open my $f, "+>", "big"; syswrite $f, $data for 1 .. 16; $f }`;
  const child = spawn('perl', ['-e', `${common} ${program}; print "held\\n"; sleep 600`], {
    cwd: place,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => {
    child.kill('SIGKILL');
    rmSync(place, { recursive: true, force: true });
  });
  t.is(String(await once(child.stdout, 'data')), 'held\n');
  const processList = join(place, 'list');
  if (!late) writeFileSync(processList, `${child.pid}\n`);
  else {
    const lists = `mkfifo list; echo ${process.pid} >list; while sleep 0.05; do printf '%d\\n' ${process.pid} ${child.pid} >list; done`;
    const lister = spawn('sh', ['-c', lists], { cwd: place, stdio: 'ignore' });
    t.teardown(() => lister.kill('SIGKILL'));
    while (!existsSync(processList)) await delay(5);
  }
  const nobody = { processList: undefined, paths: [place] };
  const [before, found, after] = await measureUnlinked(
    [nobody, { processList, paths: [place, join(place, 'absent')] }, nobody],
    AbortSignal.timeout(60_000),
  );
  for (const other of [before, after]) t.deepEqual(other, { bytes: 0, files: 0, open: 0 });
  return found;
}

const ways: Readonly<Record<string, string>> = {
  'open, once or several times': 'my $f = big(); unlink "big"; my @more = map { open my $g, "<&", $f; $g } 1 .. 500',
  'at the end of a path longer than the system takes':
    '$n = "d" x 200; for (1 .. 30) { mkdir $n; chdir $n } my $f = big(); unlink "big"; for (1 .. 30) { chdir ".."; rmdir $n }',
};
for (const [title, program] of Object.entries(ways)) {
  withPerl(`a file without a name is measured that is ${title}`, async (t) => {
    const found = await held(t, program);
    t.is(found?.files, 1);
    t.true((found?.bytes ?? 0) >= 1024 * KiB, `${found?.bytes} bytes`);
  });
}

asRoot('a file without a name is measured that is mapped and not open', async (t) => {
  const map = `syscall(${MAP}, 0, 1 << 20, 1, 1, fileno($f), 0) > 0 or die "mmap: $!"`;
  t.is((await held(t, `my $f = big(); unlink "big"; ${map}; close $f`))?.files, 1);
});

withPerl('a file without a name is measured that a process is the program of', async (t) => {
  const wait = 'select undef, undef, undef, 0.01 until readlink("/proc/" . getppid . "/exe") =~ /nap$/';
  const child = `if (!fork) { ${wait}; unlink "nap"; print "held\\n"; exit }`;
  t.is((await held(t, `system "cp", "/bin/sleep", "nap"; ${child} exec "./nap", 600`))?.files, 1);
});

withThreads('a file without a name is measured that a process holds whose first thread has ended', async (t) => {
  const wait = 'select undef, undef, undef, 0.01 while readlink "/proc/$$/exe"';
  const thread = `threads->create(sub { ${wait}; print "held\\n"; sleep 600 })`;
  t.is((await held(t, `require threads; my $f = big(); unlink "big"; ${thread}; syscall ${EXIT}, 0`))?.files, 1);
});

withPerl('a file without a name is measured that was handed on to a process that has begun since', async (t) => {
  t.is((await held(t, 'my $f = big(); unlink "big"', true))?.files, 1);
});

withPerl('a directory without a name is measured that is open, or worked in', async (t) => {
  const both = 'mkdir "a"; mkdir "b"; opendir my $d, "a"; chdir "b"; rmdir "../a"; rmdir "../b"';
  t.is((await held(t, both))?.files, 2);
});

withPerl(
  'what has a name, and what lies elsewhere, is not counted, and no more is looked at than may be',
  async (t) => {
    t.is((await held(t, 'my $f = big(); link "big", "other"; unlink "big"'))?.files, 0);
    const many = `my @kept = map { open my $f, "+>", "f"; unlink "f"; $f } 0 .. ${MOST_UNLINKED + 100}`;
    t.is((await held(t, many))?.files, MOST_UNLINKED + 1);
  },
);
