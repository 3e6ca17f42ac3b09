/**
 * The Jobs of the crash test: small indexed ones whose every index writes one line and ends, posted all the time;
 * and the judgement, once all have ended, that each index had exactly one success and each replacement a higher epoch.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { API_VERSION, type Client, listAt, numberAt, objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';

const JOBS = path('jobs', 'default');
const ATTEMPTS = path('attempts', 'default');
export const INDEXES = 4;
/** Jobs that are not known to have ended at most, so that work is always under way and never piles up. */
const OPEN_JOBS = 3;
const AGAIN_MS = 50;
const ENDED_MS = 180_000;

export interface Poster {
  readonly posted: readonly string[];
  run(stop: AbortSignal): Promise<void>;
}

function jobOf(name: string): unknown {
  return objectOf('Job', name, {
    command: ['sh', '-c', 'echo begin $SVC_INDEX; sleep 0.3; echo done $SVC_INDEX'],
    completions: INDEXES,
    parallelism: 2,
    backoffLimit: 0,
    resources: { cpu: '50m', memory: '32Mi', disk: '16Mi' },
  });
}

async function hasEnded(client: Client, name: string): Promise<boolean> {
  const { body } = await client.get(`${JOBS}/${name}`);
  return ['Succeeded', 'Failed', 'Cancelled'].includes(textAt(body, 'status', 'phase'));
}

export function openPoster(makeClient: () => Client): Poster {
  const posted: string[] = [];
  return {
    posted,
    async run(stop) {
      let open: string[] = [];
      for (let each = 0; !stop.aborted;) {
        try {
          const ended = await Promise.all(open.map((name) => hasEnded(makeClient(), name)));
          open = open.filter((_, at) => ended[at] !== true);
          if (open.length < OPEN_JOBS) {
            const name = `crash-${each}`;
            const answer = await makeClient().post(JOBS, jobOf(name));
            // After an unknown outcome it may be there already.
            if (answer.status === 201 || answer.status === 409) {
              posted.push(name);
              open.push(name);
              each += 1;
            }
          }
        } catch {
          // The service is down.
        }
        await delay(AGAIN_MS);
      }
    },
  };
}

interface Attempt {
  readonly name: string;
  readonly epoch: number;
  readonly version: number;
  readonly phase: string;
}

/** What is wrong with these Jobs, once all of them have ended. */
export async function judge(client: Client, posted: readonly string[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const name of posted) await until(`Job ${name} ends`, () => hasEnded(client, name), ENDED_MS);
  const list = await client.get(ATTEMPTS);
  const bySlot = new Map<string, Attempt[]>();
  const items = listAt(list.body, 'items');
  for (const item of items) {
    const owner = listAt(item, 'metadata', 'ownerReferences').find((one) => textAt(one, 'kind') === 'Job');
    const key = `${textAt(owner, 'name')}/${numberAt(item, 'spec', 'slot')}`;
    const attempt = {
      name: textAt(item, 'metadata', 'name'),
      epoch: numberAt(item, 'spec', 'epoch'),
      version: numberAt(item, 'metadata', 'resourceVersion'),
      phase: textAt(item, 'status', 'phase'),
    };
    bySlot.set(key, [...(bySlot.get(key) ?? []), attempt]);
  }
  for (const name of posted) {
    const job = await client.get(`${JOBS}/${name}`);
    const status = valueAt(job.body, 'status');
    if (textAt(status, 'phase') !== 'Succeeded' || numberAt(status, 'succeeded') !== INDEXES) {
      wrong.push(`Job ${name} ended ${JSON.stringify(status)}`);
      continue;
    }
    for (let index = 0; index < INDEXES; index += 1) {
      const attempts = bySlot.get(`${name}/${index}`) ?? [];
      wrong.push(...(await slotFlaws(client, `${name} index ${index}`, attempts)));
    }
  }
  return wrong;
}

async function slotFlaws(client: Client, label: string, attempts: readonly Attempt[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  const succeeded = attempts.filter((attempt) => attempt.phase === 'Succeeded');
  if (succeeded.length !== 1) wrong.push(`${label}: ${succeeded.length} Attempts succeeded`);
  const epochs = attempts.map((attempt) => attempt.epoch).toSorted((a, b) => a - b);
  if (new Set(epochs).size !== epochs.length) wrong.push(`${label}: an epoch was used twice: ${epochs.join(', ')}`);
  const newest = attempts.find((attempt) => attempt.epoch === epochs.at(-1));
  if (newest !== undefined && newest.phase !== 'Succeeded')
    wrong.push(`${label}: the success is not of the newest epoch`);
  let done = 0;
  for (const attempt of attempts) {
    const { status, text } = await client.get(`${ATTEMPTS}/${attempt.name}/logs`);
    if (status === 200) done += text.split('\n').filter((line) => line.includes('done ')).length;
    else wrong.push(`${label}: logs of ${attempt.name} answered ${status}`);
  }
  if (done !== 1) wrong.push(`${label}: its program came to its end ${done} times`);
  return wrong;
}

/** True when work can run here at all: a Job of one index ends well. */
export async function canRun(client: Client): Promise<boolean> {
  const name = 'probe';
  const probe = { apiVersion: API_VERSION, kind: 'Job', metadata: { name }, spec: { command: ['true'] } };
  const made = await client.post(JOBS, probe);
  if (made.status !== 201) throw new Error(`a Job is refused: ${made.text}`);
  return until('the probe ends', () => hasEnded(client, name), 60_000);
}
