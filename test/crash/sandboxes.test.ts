/**
 * The service is killed at random moments while Sandboxes are made and deleted, run commands, take files, and are stopped with their files
 * saved and started again. What must hold afterwards: running ones and their detached processes were adopted, none lost a file that
 * was acknowledged, and once all are deleted nothing of them is left on the machine.
 *
 * `SANDBOX_CRASH_ROUNDS` (2, in CI 3) and `CRASH_SEED` (of the clock; printed) repeat or prolong a run.
 */
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { listAt, numberAt, objectOf, textAt, valueAt, type Answer, type Client } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { openSandboxes, SANDBOXES, type Sandboxes } from '../sandboxes/sandboxes.js';
import { chanceFrom, type Chance } from './chance.js';
import { amount } from '../support/extent.js';
import { descendants, entries, text } from '../support/proc.js';

const ROUNDS = amount('SANDBOX_CRASH_ROUNDS', 2, 3);
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
/** Things acknowledged between two kills, at most. */
const MOST_DONE = 12;
/** After a refusal, or while the service is down. */
const AGAIN_MS = 60;
const SETTLE_MS = 500;
/** Processes of boxes that are kept ready, at most: two each, of 64 in all; and the runner's own helper. */
const READY = 129;
/** On a busy machine what takes a second may take many. */
const PATIENCE_MS = 60_000;

const RESOURCES = { cpu: '200m', memory: '64Mi', disk: '32Mi' };
/** One that runs all the time, one that is stopped and started all the time. */
const KEPT = 'kept';
const RESTED = 'rested';

/** What the load did, as far as it was told. */
interface Told {
  done: number;
  /** Sandbox → file of /workspace → its SHA-256. */
  readonly files: ReadonlyMap<string, Map<string, string>>;
  readonly made: Set<string>;
}

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

async function upload(client: Client, box: string, name: string, bytes: Uint8Array): Promise<Answer> {
  const to = `${SANDBOXES}/${box}/files?path=/workspace/${name}`;
  return client.ask('PUT', to, { raw: bytes, contentType: 'application/octet-stream' });
}

/** Again and again until it is stopped; a service that is down or refuses is no failure. */
async function forever(stop: AbortSignal, turn: (n: number) => Promise<void>): Promise<void> {
  for (let n = 0; !stop.aborted; n += 1) {
    await turn(n).catch(() => undefined);
    await delay(AGAIN_MS);
  }
}

function load(boxes: Sandboxes, chance: Chance, told: Told, stop: AbortSignal): Promise<unknown> {
  const keep = (box: string, name: string, hash: string): void => {
    told.files.get(box)?.set(name, hash);
    told.done += 1;
  };
  const uploads = forever(stop, async (n) => {
    const bytes = Buffer.alloc(1 + chance.below(200_000), `${n} of ${SEED} `);
    const { status } = await upload(boxes.client(), KEPT, `up-${n}`, bytes);
    if (status >= 200 && status < 300) keep(KEPT, `up-${n}`, sha256(bytes));
  });
  const commands = forever(stop, async (n) => {
    const command = ['sh', '-c', `echo ${n} >/workspace/by-${n}; echo ${n}`];
    const answer = await boxes.client().post(`${SANDBOXES}/${KEPT}/exec`, { command });
    if (answer.status !== 200) return;
    if (textAt(answer.body, 'stdout') === `${n}\n`) keep(KEPT, `by-${n}`, sha256(`${n}\n`));
  });
  const rests = forever(stop, async (n) => {
    const bytes = Buffer.alloc(1 + chance.below(50_000), `${n} at rest `);
    const { status } = await upload(boxes.client(), RESTED, `at-${n}`, bytes);
    if (status >= 200 && status < 300) keep(RESTED, `at-${n}`, sha256(bytes));
    for (const state of ['Stopped', 'Running']) {
      await until('it is asked for', async () => {
        if (stop.aborted) return true;
        return (await boxes.client().merge(`${SANDBOXES}/${RESTED}`, { spec: { state } })).status === 200;
      });
      await until('it is there', async () => {
        if (stop.aborted) return true;
        return textAt(await boxes.get(RESTED), 'status', 'phase') === state;
      });
      told.done += 1;
    }
  });
  const makes = forever(stop, async () => {
    // The same name until it is known to have been made.
    const name = `made-${told.made.size}`;
    const box = objectOf('Sandbox', name, { image: 'svc/agent-tools', resources: RESOURCES });
    const made = await boxes.client().post(SANDBOXES, box);
    if (made.status !== 201 && made.status !== 409) return;
    told.made.add(name);
    const ran = await boxes.client().post(`${SANDBOXES}/${name}/exec`, { command: ['true'] });
    if (ran.status === 200) told.done += 1;
    // Some are left for the end.
    if (!chance.is(0.3)) await boxes.client().remove(`${SANDBOXES}/${name}`);
  });
  return Promise.all([uploads, commands, rests, makes]);
}

/** What there is on the machine of this runner's boxes, as numbers that are the same again once all are gone. */
function census(dataDir: string, runner: number): Readonly<Record<string, number>> {
  const id = /"runnerId":"([0-9a-f]+)"/.exec(text(`/proc/${runner}/cmdline`))?.[1] ?? 'none';
  const groups = entries('/sys/fs/cgroup').flatMap((tree) => [
    ...entries(join('/sys/fs/cgroup', tree, `troupe-${id}`)),
    ...(tree === `troupe-${id}` ? entries(join('/sys/fs/cgroup', tree)) : []),
  ]);
  const below = descendants(runner);
  const scratch = join(dataDir, 'runner', 'scratch');
  const files = entries(scratch)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) => readdirSync(join(scratch, name), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile());
  return {
    // Of boxes that are kept ready there are only the isolation's own, which carry the runner's name.
    processes: below.filter((pid) => !text(`/proc/${pid}/cmdline`).includes('troupe-')).length,
    tooMany: Math.max(0, below.length - READY),
    groups: groups.filter((name) => /\.\d+$/.test(name)).length,
    mounts: text('/proc/mounts').split(id).length - 1,
    files: files.length,
  };
}

/** The first that stays the same for a while: boxes are made ready in the background. */
async function settled<T>(look: () => T): Promise<T> {
  for (let last = look(); ;) {
    await delay(SETTLE_MS);
    const now = look();
    if (JSON.stringify(now) === JSON.stringify(last)) return now;
    last = now;
  }
}

test.serial(
  `after ${ROUNDS} SIGKILLs of the service Sandboxes are adopted, lose no acknowledged file, and leave nothing when deleted`,
  async (t) => {
    t.timeout(ROUNDS * 30_000 + 240_000);
    t.log(`seed ${SEED}`);
    const chance = chanceFrom(SEED);
    const boxes = await openSandboxes(t, { env: { TROUPE_NODE_CPU: '32', TROUPE_NODE_MEMORY: '32Gi' } });
    // Of the same shape as all others, so that the same boxes are kept ready before and after.
    await boxes.post('first', { resources: RESOURCES });
    await boxes.phase('first', 'Running');
    await boxes.client().remove(`${SANDBOXES}/first`);
    await boxes.gone('first');
    const runner = await boxes.runner();
    const before = await settled(() => census(boxes.service.dataDir, runner));
    for (const name of [KEPT, RESTED]) await boxes.post(name, { resources: RESOURCES });
    for (const name of [KEPT, RESTED]) await boxes.phase(name, 'Running');
    const beat = 'echo $$ >>/workspace/pids; while :; do date >>/workspace/beats; sleep 0.1; done';
    const process = await boxes.client().post(`${SANDBOXES}/${KEPT}/processes`, { command: ['sh', '-c', beat] });
    t.is(process.status, 201, process.text);
    const id = textAt(process.body, 'id');

    const told: Told = {
      done: 0,
      files: new Map([
        [KEPT, new Map()],
        [RESTED, new Map()],
      ]),
      made: new Set(),
    };
    const stop = new AbortController();
    const under = load(boxes, chance, told, stop.signal);
    for (let round = 0; round < ROUNDS; round += 1) {
      const goal = told.done + 1 + chance.below(MOST_DONE);
      await until(`${goal} things are done, in round ${round}`, () => told.done >= goal, PATIENCE_MS);
      await boxes.service.kill();
      await boxes.service.start();
    }
    stop.abort();
    await under;
    t.log(`${told.done} things acknowledged, ${told.made.size} Sandboxes made`);

    t.is(await boxes.runner(), runner, 'the runner went on');
    const kept = await boxes.phase(KEPT, 'Running', 1);
    t.is(numberAt(kept, 'status', 'attempt', 'epoch'), 1);
    const inside = async (box: string, script: string): Promise<string> => {
      const answer = await boxes.client().post(`${SANDBOXES}/${box}/exec`, { command: ['sh', '-c', script] });
      if (answer.status !== 200) throw new Error(answer.text);
      return textAt(answer.body, 'stdout');
    };
    t.is((await inside(KEPT, 'wc -l </workspace/pids')).trim(), '1', 'it was started once');
    const listed = await boxes.client().get(`${SANDBOXES}/${KEPT}/processes/${id}`);
    t.is(listed.status, 200, listed.text);
    t.is(valueAt(listed.body, 'exitCode'), undefined, listed.text);
    const beats = Number(await inside(KEPT, 'wc -l </workspace/beats'));
    await until('it goes on', async () => Number(await inside(KEPT, 'wc -l </workspace/beats')) > beats);

    await until('it is asked to run', async () => {
      return (await boxes.client().merge(`${SANDBOXES}/${RESTED}`, { spec: { state: 'Running' } })).status === 200;
    });
    await boxes.phase(RESTED, 'Running');
    for (const [box, files] of told.files) {
      const lines = (await inside(box, 'cd /workspace && sha256sum *')).split('\n').filter(Boolean);
      const found = new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
      const lost = [...files].filter(([name, hash]) => found.get(name) !== hash).map(([name]) => name);
      t.deepEqual(lost, [], `files of ${box} that were acknowledged`);
    }

    const list = await boxes.client().get(SANDBOXES);
    const remove = async (name: string): Promise<void> => {
      const answer = await boxes.client().remove(`${SANDBOXES}/${name}`);
      t.is(answer.status, 200, answer.text);
      await boxes.gone(name).catch(async (error: unknown) => {
        throw new Error(JSON.stringify(await boxes.get(name)), { cause: error });
      });
    };
    await Promise.all(listAt(list.body, 'items').map((box) => remove(textAt(box, 'metadata', 'name'))));
    let after = census(boxes.service.dataDir, runner);
    for (const end = Date.now() + 10_000; Date.now() < end; after = census(boxes.service.dataDir, runner)) {
      if (JSON.stringify(after) === JSON.stringify(before)) break;
      await delay(50);
    }
    t.deepEqual(after, before, 'what is on the machine');
  },
);
