/** Small parts of the runner: lines of the protocol, ids, mounts, what an order may ask for, and the program that holds a box. */
import fc from 'fast-check';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { agentProgram, agentSource, writeAgent } from '../../src/runner/agent/program.js';
import { mapped, PrivateFiles } from '../../src/runner/isolation/private-files.js';
import { chooseIdBase } from '../../src/runner/isolation/host-ids.js';
import { isPlainName, runnerIdOf, runtimeRoot } from '../../src/engines/compute/shared/plain-name.js';
import { windowsOf } from '../../src/runner/isolation/own-mounts.js';
import { processorTime } from '../../src/runner/limits/groups.js';
import { parseMounts, parseOwn } from '../../src/runner/limits/probe.js';
import { LineReader } from '../../src/runner/protocol/lines.js';
import { isInside } from '../../src/engines/compute/shared/is-inside.js';
import { CpuPressure } from '../../src/runner/work/cpu-pressure.js';

test('messages come out whole and in order, however the bytes are cut', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      (messages, cuts) => {
        const bytes = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
        const reader = new LineReader(1 << 20);
        const found: unknown[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const length = cuts[turn % cuts.length] ?? 1;
          found.push(...reader.read(bytes.subarray(at, at + length)));
          at += length;
        }
        t.is(JSON.stringify(found), JSON.stringify(messages));
      },
    ),
  );
});

test('a line above the bound is an error before it is complete', (t) => {
  const reader = new LineReader(10);
  t.deepEqual(reader.read(Buffer.from('{"a":1}\n')), [{ a: 1 }]);
  t.throws(() => reader.read(Buffer.from('[1,2,3,4,5,6,7')));
  t.throws(() => new LineReader(10).read(Buffer.from('"0123456789abc"\n')));
  t.throws(() => new LineReader(10).read(Buffer.from('no json\n')));
});

test('host ids avoid what users were given and what the machine cannot represent', (t) => {
  const all = '         0          0 4294967295\n';
  t.is(chooseIdBase(1024, all, ''), 1_900_000_000);
  t.is(chooseIdBase(1024, all, 'anna:1900000000:65536\n'), 200_000);
  t.is(chooseIdBase(1024, all, 'anna:1900000000:65536\nbert:165536:65536\n'), 60_000);
  t.is(chooseIdBase(1024, '         0     100000      65536\n', ''), 60_000);
  t.is(chooseIdBase(1024, '         0       1000          1\n', ''), undefined);
});

test('of the mounts that boxes begin with only windows into the kernel go, never one with data or one that hides something', (t) => {
  const mounts = [
    '/dev/vda / ext4 rw 0 0',
    'proc /proc proc rw 0 0',
    'tmpfs /proc/kcore tmpfs ro 0 0',
    'binfmt_misc /proc/sys/fs/binfmt_misc binfmt_misc rw 0 0',
    'sysfs /sys sysfs rw 0 0',
    'tmpfs /sys/firmware tmpfs ro 0 0',
    'debugfs /sys/kernel/debug debugfs rw 0 0',
    'tracefs /sys/kernel/debug/tracing tracefs rw 0 0',
    'cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0',
    'cgroup /sys/fs/cgroup/freezer cgroup rw,freezer 0 0',
    'cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0',
    'devpts /dev/pts devpts rw 0 0',
    'tmpfs /dev/shm tmpfs rw 0 0',
    'nas:/data /mnt/data nfs4 rw 0 0',
    '',
  ];
  t.deepEqual(windowsOf(mounts.join('\n')), [
    '/proc/sys/fs/binfmt_misc',
    '/sys/kernel/debug',
    '/sys/kernel/debug/tracing',
    '/sys/fs/cgroup/freezer',
    '/dev/pts',
  ]);
});

test('control groups are found in mounts and in what the process is in', (t) => {
  const mounts = parseMounts(
    'proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n',
  );
  t.deepEqual(
    mounts.map(({ path }) => path),
    ['/sys/fs/cgroup/cpu,cpuacct', '/sys/fs/cgroup/unified'],
  );
  const own = parseOwn('9:memory:/a/b\n8:cpu,cpuacct:/c:d\n0::/user.slice\n');
  t.is(own.get('memory'), '/a/b');
  t.is(own.get('cpu'), '/c:d');
  t.is(own.get(''), '/user.slice');
});

test('names that would leave their directory are no names', (t) => {
  for (const name of ['', '.', '..', '.hidden', 'a/b', '/a', 'a\0', 'a\n', '-rf', 'x'.repeat(129)])
    t.false(isPlainName(name), name);
  for (const name of ['3f2a.1', 'main', 'a-b_c.D']) t.true(isPlainName(name), name);
});

test('paths are inside by their parts, not by their letters', (t) => {
  t.true(isInside('/workspace', '/workspace'));
  t.true(isInside('/workspace', '/workspace/a'));
  t.false(isInside('/workspace', '/workspace2'));
  t.false(isInside('/workspace', '/'));
  t.true(isInside('/workspace', '/workspace/..a'));
});

test('a runner’s socket path is short, and differs by cluster and by directory', (t) => {
  const one = runnerIdOf('cluster', '/a');
  t.regex(one, /^[0-9a-f]{8}$/);
  t.not(one, runnerIdOf('cluster', '/b'));
  t.not(one, runnerIdOf('other', '/a'));
  t.is(runtimeRoot(0, '/run/user/0'), '/run/troupe');
  t.is(runtimeRoot(1000, '/run/user/1000'), '/run/user/1000/troupe');
  t.is(runtimeRoot(1000, undefined), '/tmp/troupe-1000');
});

test('the program that holds a box is strict Perl as a whole, and what starts a box is less than that', (t) => {
  const checked = spawnSync('perl', ['-wc', '-'], { input: agentSource(), encoding: 'utf8' });
  t.is(checked.stderr.trim(), '- syntax OK');
  const program = agentProgram();
  const often = program.slice(program.indexOf('\nRARE\n'));
  t.true(often.length < agentSource().length * 0.6, `${often.length}`);
  t.is(spawnSync('perl', ['-c', '-'], { input: program, encoding: 'utf8' }).stderr.trim(), '- syntax OK');
});

test('the processors are wanted as much as the kernel says that somebody has waited for them since the last look', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-pressure-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'cpu');
  const say = (total: number): void =>
    writeFileSync(file, `some avg10=99.00 avg60=0.00 avg300=0.00 total=${total}\nfull avg10=0.00 total=0\n`);
  const pressure = new CpuPressure(file);
  // Not known.
  t.is(pressure.since(0), 0);
  say(5_000_000);
  t.is(pressure.since(1_000), 0);
  say(5_400_000);
  t.is(pressure.since(1_500), 0.8);
  t.is(pressure.since(2_500), 0);
  say(9_000_000);
  t.is(pressure.since(3_500), 1);
  writeFileSync(file, 'of another kernel\n');
  t.is(pressure.since(4_500), 0);
  say(9_900_000);
  t.is(pressure.since(5_500), 0);
});

test('an agent whose runner has ended before it was ready ends, too: nobody would come for it', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-agent-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const { interpreter, program, args } = writeAgent(join(dir, 'agent'), 'perl', 'unknown', 'troupe-test');
  // It begins at a word, when nobody reads its output any more.
  const agent = spawn('sh', ['-c', 'read word; exec "$@"', 'sh', interpreter, program, ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.teardown(() => agent.kill('SIGKILL'));
  const exit = once(agent, 'exit', { signal: AbortSignal.timeout(20_000) });
  const closed = once(agent.stdout, 'close');
  agent.stdout.destroy();
  await closed;
  agent.stdin.write('go\n');
  t.deepEqual(await exit, [0, null]);
});

test('of the mappings of a process only the files count, each once', (t) => {
  const maps = [
    '5600-5601 r--p 00000000 fe:00 260723                     /usr/bin/perl',
    '5601-5602 r-xp 00049000 fe:00 260723                     /usr/bin/perl',
    '7f00-7f01 r--p 00000000 fe:00 329641                     /usr/lib/locale/C.utf8/LC_NAME',
    '7f01-7f02 r-xp 00001000 fe:00 4242                       /usr/lib/x86_64-linux-gnu/libc.so.6',
    '7f02-7f03 r-xp 00001000 fe:00 4242                       /usr/lib/x86_64-linux-gnu/libc.so.6',
    '7ffe-7fff r-xp 00000000 00:00 0                          [vdso]',
  ].join('\n');
  t.deepEqual(mapped(maps), ['/usr/bin/perl', '/usr/lib/x86_64-linux-gnu/libc.so.6']);
});

test('processor time is given in brief periods, and the smallest shares exactly', (t) => {
  t.deepEqual(processorTime(1500), { quota: 30_000, period: 20_000 });
  t.deepEqual(processorTime(50), { quota: 1_000, period: 20_000 });
  t.deepEqual(processorTime(49), { quota: 4_900, period: 100_000 });
  t.deepEqual(processorTime(1), { quota: 1_000, period: 100_000 });
});

test('places have copies of the machine’s files by their numbers, and one that was broken off is made again', async (t) => {
  const real = mkdtempSync(join(tmpdir(), 'troupe-private-'));
  t.teardown(() => rmSync(real, { recursive: true, force: true }));
  const system = [{ source: '/usr', target: '/usr', readOnly: true }];
  const open = (count: number): PrivateFiles =>
    new PrivateFiles({ real, shown: real, count }, system, '/usr/bin/perl', (line) => t.fail(line));
  const files = open(2);
  const [first, second, third] = await Promise.all([files.of(0), files.of(1), files.of(2)]);
  const perl = first?.find(({ target }) => target === '/usr/bin/perl')?.source ?? '';
  t.deepEqual(third, first);
  t.deepEqual(
    first?.filter(({ source }) => second?.some((other) => other.source === source)),
    [],
  );
  t.true(readFileSync(perl).equals(readFileSync('/usr/bin/perl')));
  truncateSync(perl, 100);
  await open(2).of(0);
  t.true(readFileSync(perl).equals(readFileSync('/usr/bin/perl')));
  t.deepEqual(await open(0).of(0), []);
});
