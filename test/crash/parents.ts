/**
 * The Sweep and the Pipeline of the crash test, whose programs write down when they ran and what they were given; and the judgement, once
 * they are over, that every cell and every stage came to one success, ran never twice at once, and began after what it needs.
 */
import { type Client, listAt, numberAt, objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { PIPELINES, SWEEPS } from '../parents/parents.js';
import { SMALL } from '../jobs/jobs.js';
import type { Chance } from './chance.js';

export const JOBS = path('jobs', 'default');
const ATTEMPTS = path('attempts', 'default');
/** Logs that are read at once. */
const READERS = 8;
/** A killed runner takes all that runs with it, and chance may take the same cell many times. */
const RECOVERY = { maxAttempts: 32 } as const;
/** Stages that a stage takes outputs of, at most; the last one takes all. */
const MOST_NEEDS = 3;
const ENDS = ['Succeeded', 'Failed', 'Cancelled'];

/** Says when it begins, that it goes on, and when it has come to its end. */
const BEATS = 'date "+begin %s%N"; for beat in 1 2 3; do sleep 0.1; date "+beat %s%N"; done';
const DONE = 'date "+done %s%N"';

function program(script: string, more: object = {}): object {
  return { command: ['sh', '-ec', script], resources: SMALL, backoffLimit: 0, recovery: RECOVERY, ...more };
}

/** Cells are numbered by one parameter. */
export function gridOf(name: string, cells: number, maxParallel: number): unknown {
  const tens = Array.from({ length: cells / 10 }, (_, ten) => `${ten}`);
  const template = { spec: program(`${BEATS}; ${DONE}`) };
  return objectOf('Sweep', name, { matrix: { params: { TEN: tens } }, repetitions: 10, maxParallel, template });
}

/** Cells that do not end by themselves. */
export function sleepersOf(name: string): unknown {
  return objectOf('Sweep', name, { repetitions: 6, maxParallel: 4, template: { spec: program('exec sleep 3600') } });
}

/** Two stages that do not end by themselves, and one that waits for them. */
export function waitersOf(name: string): unknown {
  const stage = (each: string, more: object = {}): object => ({ name: each, ...more });
  return objectOf('Pipeline', name, {
    defaults: program('exec sleep 3600'),
    stages: [stage('left'), stage('right'), stage('join', { dependsOn: ['left', 'right'] })],
  });
}

/** Which stages each stage takes an output of: chance has it, and the last one takes all. */
export function graphOf(stages: number, chance: Chance): readonly (readonly number[])[] {
  return Array.from({ length: stages }, (_, index) => {
    if (index === stages - 1) return Array.from({ length: index }, (_each, other) => other);
    const needs = Array.from({ length: Math.min(index, 1 + chance.below(MOST_NEEDS)) }, () => chance.below(index));
    return [...new Set(needs)];
  });
}

/** A stage says what it was given, and hands that on with a line of its own: its name and its epoch. */
export function fanInOf(name: string, graph: readonly (readonly number[])[], maxParallel: number): unknown {
  return objectOf('Pipeline', name, {
    maxParallel,
    defaults: program('exit 1', { outputs: [{ name: 'trail', path: '/tmp/trail' }] }),
    stages: graph.map((needs, index) => {
      const files = needs.map((need) => `/svc/inputs/s${need}`).join(' ');
      const given = needs.length === 0 ? 'true' : `for given in ${files}; do [ -s $given ]; done; cat ${files}`;
      const trail = `{ ${given}; echo s${index}.$SVC_EPOCH; } | sort -u >/tmp/trail`;
      return {
        name: `s${index}`,
        inputs: needs.map((need) => ({ name: `s${need}`, fromStage: `s${need}`, output: 'trail' })),
        template: program(`${BEATS}; ${trail}; sed "s/^/trail /" /tmp/trail; ${DONE}`, {
          outputs: [{ name: 'trail', path: '/tmp/trail' }],
        }),
      };
    }),
  });
}

export function isOver(object: unknown): boolean {
  return ENDS.includes(textAt(object, 'status', 'phase'));
}

/** Jobs of this Sweep or Pipeline. */
export async function jobsOf(client: Client, owner: 'sweep' | 'pipeline', name: string): Promise<readonly unknown[]> {
  const answer = await client.get(`${JOBS}?labelSelector=svc.dev%2F${owner}%3D${name}`);
  if (answer.status !== 200) throw new Error(`list of Jobs answered ${answer.status}: ${answer.text}`);
  return listAt(answer.body, 'items');
}

/** One run of a cell's or a stage's program, as its log tells. Times are in ns since the epoch. */
interface Run {
  readonly label: string;
  readonly epoch: number;
  readonly phase: string;
  readonly reason: string;
  /** 0: it never came so far. */
  readonly began: bigint;
  readonly last: bigint;
  readonly done: number;
  readonly trail: readonly string[];
}

/** What is wrong with this Sweep, which is over. */
export async function judgeGrid(client: Client, name: string, cells: number): Promise<readonly string[]> {
  const sweep = (await client.get(`${SWEEPS}/${name}`)).body;
  const status = valueAt(sweep, 'status');
  if (textAt(status, 'phase') !== 'Succeeded' || numberAt(status, 'succeeded') !== cells)
    return [`Sweep ${name}: ${JSON.stringify({ ...(status as object), cells: undefined })}`];
  const all = await jobsOf(client, 'sweep', name);
  const jobs = new Map(all.map((job) => [textAt(job, 'metadata', 'labels', 'svc.dev/cell'), job]));
  const wrong = all.length === cells && jobs.size === cells ? [] : [`${all.length} Jobs for ${jobs.size} cells`];
  const runs = await runsOf(client, all);
  for (const [cell, job] of jobs) wrong.push(...flawsOf(`cell ${cell}`, runs.get(textAt(job, 'metadata', 'name'))));
  return wrong;
}

/** What is wrong with this Pipeline, which is over. */
export async function judgeFanIn(
  client: Client,
  name: string,
  graph: readonly (readonly number[])[],
): Promise<readonly string[]> {
  const pipeline = (await client.get(`${PIPELINES}/${name}`)).body;
  if (textAt(pipeline, 'status', 'phase') !== 'Succeeded')
    return [`Pipeline ${name}: ${JSON.stringify(valueAt(pipeline, 'status'))}`];
  const all = await jobsOf(client, 'pipeline', name);
  const wrong = all.length === graph.length ? [] : [`${all.length} Jobs for ${graph.length} stages`];
  const byJob = await runsOf(client, all);
  const runs = listAt(pipeline, 'status', 'stages').map((stage) => byJob.get(textAt(stage, 'job')) ?? []);
  const successes = runs.map((own) => own.find(({ phase }) => phase === 'Succeeded'));
  for (const [index, needs] of graph.entries()) {
    wrong.push(...flawsOf(`stage s${index}`, runs[index]));
    for (const run of runs[index] ?? []) {
      for (const need of needs) {
        if (run.began > 0n && run.began < (successes[need]?.last ?? 0n))
          wrong.push(`${run.label} began before s${need} was over`);
      }
    }
    // What it handed on is what the very runs that succeeded have handed it.
    const given = needs.flatMap((need) => successes[need]?.trail ?? [`nothing of s${need}`]);
    const due = [...new Set([...given, `s${index}.${successes[index]?.epoch}`])].toSorted();
    const trail = (successes[index]?.trail ?? []).toSorted();
    if (due.join() !== trail.join())
      wrong.push(`stage s${index} handed on ${trail.join()}, and was given ${due.join()}`);
  }
  return wrong;
}

/** Of one cell or stage: one success, of the newest epoch, and no two runs at the same time. */
function flawsOf(label: string, runs: readonly Run[] = []): readonly string[] {
  const wrong: string[] = [];
  const ordered = runs.toSorted((a, b) => a.epoch - b.epoch);
  const succeeded = ordered.filter(({ phase }) => phase === 'Succeeded');
  if (succeeded.length !== 1) wrong.push(`${label}: ${succeeded.length} of its Attempts have succeeded`);
  if (ordered.at(-1)?.phase !== 'Succeeded') wrong.push(`${label}: the success is not of the newest epoch`);
  if (new Set(ordered.map(({ epoch }) => epoch)).size !== ordered.length)
    wrong.push(`${label}: an epoch was used twice`);
  for (const [at, run] of ordered.entries()) {
    if (run.phase === 'Succeeded' && run.done !== 1) wrong.push(`${run.label}: came to its end ${run.done} times`);
    // The end of a run may be lost with its runner, or be cut off by a stop.
    if (run.done > 0 && run.phase === 'Failed' && run.reason !== 'NodeLost') wrong.push(`${run.label}: ${run.reason}`);
    const next = ordered[at + 1];
    if (next !== undefined && next.began > 0n && next.began < run.last)
      wrong.push(`${next.label} began while ${run.label} ran`);
  }
  return wrong;
}

/** Runs of these Jobs by their names. */
async function runsOf(client: Client, jobs: readonly unknown[]): Promise<ReadonlyMap<string, readonly Run[]>> {
  const names = new Set(jobs.map((job) => textAt(job, 'metadata', 'name')));
  const attempts = listAt((await client.get(ATTEMPTS)).body, 'items');
  const found = new Map<string, Run[]>();
  const read = async (attempt: unknown): Promise<void> => {
    const owner = listAt(attempt, 'metadata', 'ownerReferences').find((one) => textAt(one, 'kind') === 'Job');
    const job = textAt(owner, 'name');
    if (!names.has(job)) return;
    const run = await runOf(client, attempt);
    found.set(job, [...(found.get(job) ?? []), run]);
  };
  const queue = attempts.values();
  const reader = async (): Promise<void> => {
    for (const attempt of queue) await read(attempt);
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  return found;
}

async function runOf(client: Client, attempt: unknown): Promise<Run> {
  const name = textAt(attempt, 'metadata', 'name');
  const { text } = await client.get(`${ATTEMPTS}/${name}/logs`);
  const lines = text.split('\n').map((line) => line.split(' '));
  const times = lines.flatMap(([word = '', time = '']) =>
    ['begin', 'beat', 'done'].includes(word) && /^\d+$/.test(time) ? [BigInt(time)] : [],
  );
  return {
    label: name,
    epoch: numberAt(attempt, 'spec', 'epoch'),
    phase: textAt(attempt, 'status', 'phase'),
    reason: textAt(attempt, 'status', 'reason'),
    began: times[0] ?? 0n,
    last: times.at(-1) ?? 0n,
    done: lines.filter(([word]) => word === 'done').length,
    trail: lines.flatMap(([word, entry = '']) => (word === 'trail' ? [entry] : [])),
  };
}
