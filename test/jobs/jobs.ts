/**
 * What black-box tests of Jobs share: a service, Jobs posted to it under their test's name, and their ends, which one watch
 * reports for all of them.
 */
import { type Client, listAt, numberAt, objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { shareRunning, startRunning, type Running, type Setup } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openWatcher, type Watcher } from '../e2e/watcher.js';

export const JOBS = path('jobs', 'default');
export const ATTEMPTS = path('attempts', 'default');

/** The operator of the shared service allows this one address of all that is not the public internet (`network.test.ts`). */
export const ALLOWED = '127.0.0.5';

/** So small that many run at once on two CPUs. */
export const SMALL = { cpu: '20m', memory: '64Mi', disk: '16Mi' } as const;

/** On a busy machine a Job that takes a second may take many. */
const ENDED_MS = 90_000;

export interface Attempt {
  readonly index: number;
  readonly epoch: number;
  readonly phase: string;
  readonly reason: string;
  readonly name: string;
  readonly body: unknown;
}

export interface Jobs {
  readonly service: Running;
  client(): Client;
  /** Creates a Job of these fields, small unless they say otherwise; fails unless it is created. */
  post(name: string, spec: object): Promise<unknown>;
  /** The Job as it is once this holds. */
  once(name: string, what: string, holds: (job: unknown) => boolean): Promise<unknown>;
  /** The Job once it has ended. */
  ended(name: string): Promise<unknown>;
  /** `post`, then `ended`. */
  run(name: string, spec: object): Promise<unknown>;
  /** `query` without the question mark. */
  log(name: string, query?: string): Promise<string>;
  /** By index, then epoch. */
  attempts(name: string): Promise<readonly Attempt[]>;
  close(): Promise<void>;
}

/** A program of `sh`. */
export function sh(script: string): readonly string[] {
  return ['sh', '-ec', script];
}

export function phaseOf(job: unknown): string {
  return textAt(job, 'status', 'phase');
}

/** `Failed BackoffLimitExceeded`: in one line what became of a Job. */
export function outcomeOf(job: unknown): string {
  return `${phaseOf(job)} ${textAt(job, 'status', 'reason')}`.trim();
}

/** Without a setup the service is shared with other test files. */
export async function openJobs(setup?: Setup): Promise<Jobs> {
  if (setup !== undefined) return jobsAt(await startRunning(undefined, setup));
  return jobsAt(await shareRunning(undefined, { env: { TROUPE_EGRESS_ALLOW: `${ALLOWED}/32` } }));
}

/** Closes the service when it is closed. */
export async function jobsAt(service: Running): Promise<Jobs> {
  const client = (): Client => service.client();
  const watcher = await openWatcher(client, JOBS);

  const once = (name: string, what: string, holds: (job: unknown) => boolean): Promise<unknown> =>
    until(
      `Job ${name} ${what}`,
      () => {
        if (watcher.failure() !== undefined) throw new Error(watcher.failure());
        const job = newest(watcher, name);
        return job !== undefined && holds(job) ? job : undefined;
      },
      ENDED_MS,
    );
  const post = async (name: string, spec: object): Promise<unknown> => {
    const answer = await client().post(JOBS, objectOf('Job', name, { resources: SMALL, ...spec }));
    if (answer.status !== 201) throw new Error(`create of Job ${name} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  const ended = (name: string): Promise<unknown> =>
    once(name, 'ends', (job) => ['Succeeded', 'Failed', 'Cancelled'].includes(phaseOf(job)));

  return {
    service,
    client,
    post,
    once,
    ended,
    async run(name, spec) {
      await post(name, spec);
      return ended(name);
    },
    async log(name, query = '') {
      return (await client().get(`${JOBS}/${name}/logs?${query}`)).text;
    },
    async attempts(name) {
      const { body } = await client().get(`${ATTEMPTS}?labelSelector=svc.dev%2Fjob%3D${name}`);
      return listAt(body, 'items')
        .map((item) => ({
          index: numberAt(item, 'spec', 'slot'),
          epoch: numberAt(item, 'spec', 'epoch'),
          phase: phaseOf(item),
          reason: textAt(item, 'status', 'reason'),
          name: textAt(item, 'metadata', 'name'),
          body: item,
        }))
        .toSorted((a, b) => a.index - b.index || a.epoch - b.epoch);
    },
    async close() {
      await watcher.stop();
      await service.close();
    },
  };
}

/** What the watch said of it last; undefined when it never did, or said that it is gone. */
function newest(watcher: Watcher, name: string): unknown {
  const seen = watcher.seen.findLast((event) => event.name === name);
  return seen === undefined || seen.type === 'DELETED' ? undefined : seen.object;
}

/** `epoch reason` of each, such as `1 CustomerExit`. */
export function attemptLines(attempts: readonly Attempt[]): readonly string[] {
  return attempts.map(({ index, epoch, phase, reason }) => `${index}.${epoch} ${phase} ${reason}`);
}

/** Message and reason of a failed condition, and everything else that a Job says of its end, as one text. */
export function messageOf(job: unknown): string {
  return JSON.stringify(valueAt(job, 'status'));
}
