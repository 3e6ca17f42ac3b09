/** The zygote by itself, as root: what lies in the way of a mount, whose memory holds what, and its own end. */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { agentSource, writeAgent } from '../../src/runner/agent/program.js';
import { trialBox, type Box } from '../../src/runner/isolation/isolation.js';
import { findProgram } from '../../src/engines/compute/shared/find-program.js';
import type { SystemView } from '../../src/runner/isolation/system.js';
import type { Launched } from '../../src/runner/process/launch.js';
import { openZygote } from '../../src/runner/zygote/open.js';
import { checkedZygoteSource } from '../../src/runner/zygote/program.js';
import { stepsOf } from '../../src/runner/zygote/steps.js';
import type { Zygote } from '../../src/runner/zygote/zygote.js';
import { box as boxOrder, Harness } from './compute-harness.js';
import { EngineFixture as Machine, setups, withoutZygote } from './namespaces-setups.js';

const perl = findProgram('perl');
const asRoot = process.getuid?.() === 0 && perl !== undefined ? test.serial : test.skip;

/** Nobody who has processes or files. */
const HOST_ID = 1_912_345_678;

const VIEW: SystemView = {
  mounts: [{ source: '/usr', target: '/usr', readOnly: true }],
  links: [
    ['/bin', 'usr/bin'],
    ['/lib', 'usr/lib'],
    ['/lib64', 'usr/lib64'],
  ],
  masked: [],
};

const PLAIN = trialBox(HOST_ID);

interface Ground {
  readonly dir: string;
  readonly zygote: Zygote;
  make(box: Partial<Box>): Promise<Launched>;
}

async function open(t: ExecutionContext): Promise<Ground> {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-zygote-'));
  const agent = writeAgent(join(dir, 'agent'), perl ?? '', process.arch, 'troupe-zygote-test');
  const said: string[] = [];
  const zygote = await openZygote({
    ...agent,
    program: join(dir, 'program'),
    socket: join(dir, 'zygote'),
    view: VIEW,
    architecture: process.arch,
    hostId: HOST_ID,
    trialSocket: join(dir, 'trial'),
    report: (line) => said.push(line),
  });
  t.teardown(() => {
    zygote?.close();
    rmSync(dir, { recursive: true, force: true });
  });
  if (zygote === undefined) throw new Error(said.join());
  let made = 0;
  return {
    dir,
    zygote,
    make: (box) => zygote.make({ box: { ...PLAIN, ...box }, socket: join(dir, `box-${made++}`), memberFiles: [] }),
  };
}

async function boxOf(launched: Launched): Promise<number> {
  const ready = await launched.ready;
  if (!ready) throw new Error((await launched.exited).error);
  return (await launched.boxPid) ?? 0;
}

test('the program of a zygote is strict Perl as a whole, and none of its parts takes the name of another', (t) => {
  const checked = spawnSync('perl', ['-wc', '-'], {
    input: agentSource(checkedZygoteSource()),
    encoding: 'utf8',
  });
  t.is(checked.stderr.trim(), '- syntax OK');
});

test('secrets are written before their directory is sealed, and all of the machine is shown for reading only', (t) => {
  const steps = stepsOf(VIEW, { ...PLAIN, secretFiles: new Map([['KEY', Buffer.from('v')]]) });
  const at = (what: string, target: string): number => steps.findIndex(([name, to]) => name === what && to === target);
  t.true(at('file', '/run/secrets/KEY') > 0);
  t.true(at('seal', '/run/secrets') > at('file', '/run/secrets/KEY'));
  for (const step of steps) {
    if (step[0] === 'bind' && !step[2].startsWith('/dev/')) t.is(step[3] & 7, 7, step[2]);
  }
});

asRoot('a link on the way to a mount leads about in the box, and to nothing of the machine', async (t) => {
  const fixture = await open(t);
  const [outside, hostile] = [join(fixture.dir, 'outside'), join(fixture.dir, 'hostile')];
  for (const path of [outside, hostile]) mkdirSync(path);
  // Absolute, upwards, and through the kernel's own.
  symlinkSync(outside, join(hostile, 'absolute'));
  symlinkSync('../../../../../../../..' + outside, join(hostile, 'upwards'));
  symlinkSync('/proc/1/root', join(hostile, 'kernel'));
  const given = join(fixture.dir, 'given');
  writeFileSync(given, 'given');
  for (const link of ['absolute', 'upwards', 'kernel']) {
    const made = await fixture.make({
      mounts: [
        { source: hostile, target: '/workspace', readOnly: false },
        { source: given, target: `/workspace/${link}/made/here`, readOnly: true },
      ],
    });
    if (await made.ready) {
      // It came to lie in the box, wherever the link leads there.
      const root = `/proc/${await made.boxPid}/root`;
      const where = link === 'kernel' ? '/made/here' : `${outside}/made/here`;
      t.is(readFileSync(root + where, 'utf8'), 'given', link);
    } else {
      t.regex((await made.exited).error, /^\/workspace\//, link);
    }
    t.deepEqual(readdirSync(outside), [], link);
    t.false(existsSync('/made'), link);
    made.kill();
    await made.exited;
  }
});

asRoot('what one box was told is in the memory of neither the zygote nor the next box', async (t) => {
  const fixture = await open(t);
  const secret = `hush-${process.pid}-${Date.now()}`;
  const first = await boxOf(await fixture.make({ secretFiles: new Map([['KEY', Buffer.from(secret)]]) }));
  t.is(readFileSync(`/proc/${first}/root/run/secrets/KEY`, 'utf8'), secret);
  const second = await boxOf(await fixture.make({}));
  const zygote = Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${second}/status`, 'utf8'))?.[1]);
  t.true(readFileSync(`/proc/${zygote}/cmdline`, 'utf8').startsWith('troupe-zygote-test-zygote'));
  t.false(memoryOf(second).includes(secret));
  t.false(memoryOf(zygote).includes(secret));
  // Where it would be found.
  t.true(memoryOf(first).includes(secret));
});

asRoot('a zygote that is killed takes its boxes along, and the next box has another one', async (t) => {
  const fixture = await open(t);
  const box = await fixture.make({});
  const pid = await boxOf(box);
  const zygote = Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  process.kill(zygote, 'SIGKILL');
  // Without a turn of the event loop: its end is not told yet when the next box is wanted.
  const until = performance.now() + 5_000;
  while (!/State:\s+Z/.test(readFileSync(`/proc/${zygote}/status`, 'utf8')) && performance.now() < until);
  const next = await boxOf(await fixture.make({}));
  await box.exited;
  t.false(existsSync(`/proc/${pid}/root/usr`));
  t.false(readFileSync(`/proc/${next}/status`, 'utf8').includes(`PPid:\t${zygote}\n`));
});

asRoot('a box that cannot be made says at which of its paths, and leaves no process', async (t) => {
  const fixture = await open(t);
  const box = await fixture.make({ mounts: [{ source: '/nothing/there', target: '/workspace', readOnly: true }] });
  t.false(await box.ready);
  t.is((await box.exited).error, '/nothing/there: open_tree: No such file or directory');
  const pid = await box.boxPid;
  t.false(pid !== undefined && existsSync(`/proc/${pid}/root/usr`));
});

asRoot('boxes end one by one, each when it is told to', async (t) => {
  const fixture = await open(t);
  const [one, other] = [await fixture.make({}), await fixture.make({})];
  const pid = await boxOf(other);
  await boxOf(one);
  one.kill();
  await one.exited;
  t.true(existsSync(`/proc/${pid}/root/usr`));
  other.kill();
  await other.exited;
  t.false(existsSync(`/proc/${pid}/root/usr`));
});

for (const setup of [...setups, ...withoutZygote]) {
  const title = `${setup.title}: the box of work that is entered is made as the machine allows, and is the same inside`;
  const tried = setup.skip === undefined ? test.serial : test.skip;
  tried(setup.skip === undefined ? title : `${title} (${setup.skip})`, async (t) => {
    const fixture = Machine.make(setup, { spares: 0 });
    t.teardown(() => fixture.clean());
    const h = await Harness.over(await fixture.open());
    t.teardown(() => h.close());
    const work = await h.running(boxOrder({ secretFiles: new Map([['KEY', Buffer.from('v')]]) }));
    const look = [
      'grep -E "^(CapBnd|NoNewPrivs|Seccomp):" /proc/self/status',
      'id -u; hostname; cat /run/secrets/KEY; echo',
      'grep -c . /proc/net/route; ls /dev | tr "\\n" " "; echo',
      'touch /usr/x /dev/x /run/secrets/x 2>&1 | grep -c Read-only',
    ].join(';');
    const { stdout } = await h.ran(work.id, look);
    const [bounding, privileges, filter, ...rest] = stdout.replaceAll('\t', ' ').split('\n');
    t.deepEqual([bounding, privileges, filter], ['CapBnd: 0000000000000000', 'NoNewPrivs: 1', 'Seccomp: 2']);
    t.deepEqual(rest.slice(0, 4), ['0', 'work', 'v', '1']);
    const devices = new Set(rest[4]?.trim().split(' '));
    for (const name of ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx', 'pts', 'shm', 'stdin', 'fd'])
      t.true(devices.has(name), name);
    t.is(rest[5], '3');
    const marker = `troupe-${fixture.place.settings.runnerId}-zygote`;
    const zygotes = readdirSync('/proc').filter((pid) => commandOf(pid).startsWith(marker));
    t.is(zygotes.length, setup.isolation === 'auto' ? 1 : 0);
  });
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    // No process, or one that has ended.
    return '';
  }
}

/** All of it that can be read, as one text of bytes. */
function memoryOf(pid: number): Buffer {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const parts: Buffer[] = [];
  for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) r/.exec(line) ?? [];
    if (from === undefined || to === undefined || line.includes('[v')) continue;
    const part = Buffer.alloc(Number.parseInt(to, 16) - Number.parseInt(from, 16));
    try {
      const length = readSync(memory, part, 0, part.length, Number.parseInt(from, 16));
      parts.push(part.subarray(0, length));
    } catch {
      // Pages that nobody may look at.
    }
  }
  closeSync(memory);
  return Buffer.concat(parts);
}
