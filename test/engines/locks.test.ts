/** Locks of files are memory of the kernel that no control group counts: a box with too many is ended, and nobody else. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  MOST_IN_CROWD,
  MOST_LOCKS,
  readLocks,
  shareOut,
  tooMany,
  type LockHolder,
} from '../../src/runner/limits/locks.js';
import type { Harness } from './compute-harness.js';
import { order } from './compute-harness.js';
import { each } from './each-isolation.js';

const FEW = 1_500;
const MANY = MOST_LOCKS + 500;
/** Locks of a process, and of an open file description, which name no process. */
const [OF_PROCESS, OF_FILE] = [6, 37];
const CLONE = process.arch === 'arm64' ? 220 : 56;

/** Each new lock comes before those that are there, which costs the kernel least. */
function locking(count: number, kind: number, first = '', then = ''): string[] {
  const program = `use POSIX (); $| = 1; my @kept; ${first}; for my $n (1 .. ${Math.ceil(count / 500)}) { open my $f, "+>", "/workspace/$n" or die; push @kept, $f;
    for my $at (reverse 1 .. 500) { fcntl($f, ${kind}, pack("s s x4 q q l x4", 1, 0, 2 * $at, 1, 0)) or die "$!" } }
    ${then}; print "locked\\n"; sleep 600`;
  return ['perl', '-e', program];
}

async function endsAlone(t: ExecutionContext, h: Harness, command: readonly string[]): Promise<void> {
  const neighbour = order(locking(FEW, OF_PROCESS));
  await h.start(neighbour);
  const state = await h.run(order(command));
  t.like(state, { phase: 'Exited', exitCode: 137, outOfMemory: true }, JSON.stringify(state));
  t.regex(state.message ?? '', /^the work's locks of files are 1\d{4}, more than the 10000 that they may be$/);
  const states = await h.engine.list(h.patience());
  t.is(states.find(({ id }) => id === neighbour.id)?.phase, 'Running');
  for (const id of [state.id, neighbour.id]) await h.engine.remove(id, true, h.patience());
}

each('locks of files without end end the box, not one with a thousand beside it', async (t, fixture, h) => {
  await endsAlone(t, h, locking(MANY, OF_PROCESS));
  // Who has no list of a box's processes cannot say whose files these are.
  if (fixture.setup.uid !== 0) return;
  // The process that the locks name is gone, and another has its files.
  const passedOn = `syscall(${CLONE}, 0x411, 0, 0, 0, 0) and POSIX::_exit(0)`;
  await endsAlone(t, h, locking(MANY, OF_PROCESS, 'if (fork) { wait; sleep 600 }', passedOn));
  await endsAlone(t, h, locking(MANY, OF_FILE));
});

test('locks count for the box whose process they name, and those that name none alive for who has the file open', async (t) => {
  const lines = [
    '1: POSIX  ADVISORY  WRITE 100 fd:01:7 0 9',
    '2: FLOCK  ADVISORY  WRITE 200 fd:01:8 0 EOF',
    '2: -> FLOCK  ADVISORY  WRITE 201 fd:01:8 0 EOF',
    ...Array.from({ length: 6_000 }, (_, at) => `${at}: OFDLCK ADVISORY  READ -1 00:1b:9 ${at} ${at}`),
    ...Array.from({ length: 6_000 }, (_, at) => `${at}: POSIX  ADVISORY  WRITE 300 00:1b:10 ${at} ${at}`),
    ...Array.from({ length: 2_000 }, (_, at) => `${at}: POSIX  ADVISORY  WRITE 400 00:1b:13 ${at} ${at}`),
    '3: POSIX  ADVISORY  WRITE 500 00:1b:15 0 EOF',
    '3: LEASE  ACTIVE    READ 999 fd:01:11 0 EOF',
  ];
  const directory = mkdtempSync(join(tmpdir(), 'troupe-locks-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'locks');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const { table, total } = await readLocks(file);
  t.is(total, lines.length);
  // A page may hold some more.
  const some = await readLocks(file, 1_000);
  t.true(some.total >= 1_000 && some.total < 1_200, String(some.total));
  const holder = (firstProcess: number): LockHolder => ({
    firstProcess,
    processes: () => [],
    exceeded: () => undefined,
  });
  const holders = [holder(1), holder(2), holder(3), holder(4), holder(5)];
  // 300 is gone, and 999 is the machine's. 400 has the id of one that is gone, and none of its files. 500 may not be looked at.
  const namespaces = new Map([
    [1, 'a'],
    [100, 'a'],
    [2, 'b'],
    [200, 'b'],
    [201, 'b'],
    [3, 'c'],
    [4, 'd'],
    [400, 'd'],
    [5, ''],
    [500, ''],
    [999, 'machine'],
  ]);
  const open = new Map([
    [holders[0], ['7']],
    [holders[2], ['9', '10', '12']],
    [holders[3], ['14']],
  ]);
  const held = await shareOut(table, holders, {
    namespaceOf: (pid) => Promise.resolve(namespaces.get(pid)),
    openFiles: (of) => Promise.resolve(new Set(open.get(of))),
  });
  t.deepEqual(held, [1, 2, 12_000, 0, 0]);
});

test('a box has too many locks above the bound, or the most of them where not all can be read', (t) => {
  t.deepEqual(tooMany([5, MOST_LOCKS, MOST_LOCKS + 1], false), [2]);
  t.deepEqual(tooMany([MOST_LOCKS + 1, MOST_IN_CROWD, MOST_LOCKS + 9], true), [0, 2]);
  t.deepEqual(tooMany([5, MOST_LOCKS - 1, MOST_LOCKS], false), []);
  t.deepEqual(tooMany([MOST_IN_CROWD, MOST_IN_CROWD + 1, 7], true), [1]);
  t.deepEqual(tooMany([MOST_IN_CROWD - 1, 9], true), []);
  t.deepEqual(tooMany([], true), []);
});
