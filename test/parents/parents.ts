/** What black-box tests of Sweeps and Pipelines share: objects posted to a service, and looked at until something holds. */
import { type Client, listAt, objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { shareRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { SMALL } from '../jobs/jobs.js';

export const SWEEPS = path('sweeps', 'default');
export const PIPELINES = path('pipelines', 'default');

/** On a busy machine a Job that takes a second may take many. */
const ENDED_MS = 90_000;
const ENDS = ['Succeeded', 'Failed', 'Cancelled'];

export interface Parents {
  readonly service: Running;
  client(): Client;
  post(kind: 'Sweep' | 'Pipeline', name: string, spec: object): Promise<unknown>;
  once(at: string, what: string, holds: (object: unknown) => boolean): Promise<unknown>;
  ended(at: string): Promise<unknown>;
  merge(at: string, spec: object): Promise<{ readonly status: number; readonly body: unknown }>;
  close(): Promise<void>;
}

export async function openParents(): Promise<Parents> {
  const service = await shareRunning(undefined);
  const client = (): Client => service.client();
  const once = (at: string, what: string, holds: (object: unknown) => boolean): Promise<unknown> =>
    until(
      `${at} ${what}`,
      async () => {
        const { body } = await client().get(at);
        return holds(body) ? body : undefined;
      },
      ENDED_MS,
    );
  return {
    service,
    client,
    async post(kind, name, spec) {
      const answer = await client().post(kind === 'Sweep' ? SWEEPS : PIPELINES, objectOf(kind, name, spec));
      if (answer.status !== 201) throw new Error(`create of ${kind} ${name} answered ${answer.status}: ${answer.text}`);
      return answer.body;
    },
    once,
    ended: (at) => once(at, 'ends', (object) => ENDS.includes(textAt(object, 'status', 'phase'))),
    merge: (at, spec) => client().merge(at, { spec }),
    close: () => service.close(),
  };
}

/** A small Job that runs this script. */
export function script(text: string, more: object = {}): object {
  return { command: ['sh', '-ec', text], resources: SMALL, backoffLimit: 0, ...more };
}

/** `Failed CellsFailed`: in one line what became of it. */
export function outcomeOf(object: unknown): string {
  return `${textAt(object, 'status', 'phase')} ${textAt(object, 'status', 'reason')}`.trim();
}

/** Of each cell or stage. */
export function phasesOf(object: unknown, list: 'cells' | 'stages'): readonly string[] {
  return listAt(object, 'status', list).map((row) => textAt(row, 'phase'));
}

export function statusOf(object: unknown): unknown {
  return valueAt(object, 'status');
}
