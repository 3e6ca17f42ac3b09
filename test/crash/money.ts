/**
 * The load of the crash test of money: clients that make work which costs a cent a second for each CPU, and change what limits it. What fails
 * because something was killed, or is refused because the money is used up, is tried again in another way.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { objectOf, path, textAt, type Client } from '../e2e/client.js';
import { sh } from '../jobs/jobs.js';
import { SWEEPS } from '../parents/parents.js';
import { SANDBOXES } from '../sandboxes/sandboxes.js';
import { chanceFrom, type Chance } from './chance.js';

export const JOBS = path('jobs', 'default');
export const BUDGETS = path('budgets', '');

/** A cent a second for each CPU; the rest is as it is shipped. */
export async function writePrices(file: string): Promise<void> {
  const shipped = await readFile(new URL('../../../ops/catalog/pricebook.yaml', import.meta.url), 'utf8');
  const prices = "cpu-local: { perCpuHourUSD: '36.00', perGiBMemoryHourUSD: '0.00' }";
  const own = shipped
    .replace(/^pricebookVersion: .*$/m, "pricebookVersion: 'crash'")
    .replace(/cpu-local: .*$/m, prices);
  await writeFile(file, own);
}

/** A minute, and one for a graceful end. */
export const FIRST_HOLD_USD = '1.20';
const RECOVERY = { maxAttempts: 32 } as const;
export const ONE_CPU = { resources: { cpu: '1', memory: '64Mi', disk: '16Mi' }, backoffLimit: 0, recovery: RECOVERY };

const TEAMS = ['a', 'b'];
/** After a refusal, or while the service is down. */
const AGAIN_MS = 60;
const JOB_CLIENTS = 6;

export interface Spenders {
  run(stop: AbortSignal): Promise<void>;
  /** What was acknowledged. */
  done(): number;
  summary(): string;
}

export function openSpenders(makeClient: () => Client, seed: number): Spenders {
  let [done, refused, jobs] = [0, 0, 0];
  const about = (status: number): boolean => {
    if (status === 402) refused += 1;
    if (status >= 200 && status < 300) done += 1;
    return status >= 200 && status < 300;
  };

  /** Again and again until it is stopped. */
  async function forever(stop: AbortSignal, turn: (client: Client, n: number) => Promise<void>): Promise<void> {
    for (let n = 0; !stop.aborted; n += 1) {
      await turn(makeClient(), n).catch(() => undefined);
      await delay(AGAIN_MS);
    }
  }

  /** Jobs of a second or so; some are suspended and resumed, cancelled or deleted meanwhile. */
  const spend =
    (id: number, chance: Chance) =>
    async (client: Client, n: number): Promise<void> => {
      const name = `job-${id}-${n}`;
      const spec = {
        ...ONE_CPU,
        command: sh(`sleep ${chance.below(20) / 10}`),
        ...(chance.is(0.3) ? { maxCostUSD: ['1.20', '2.00', '5.00'][chance.below(3)] } : {}),
        ...(chance.is(0.3) ? { completions: 3, parallelism: 2 } : {}),
      };
      const made = await client.post(JOBS, objectOf('Job', name, spec, { labels: { team: TEAMS[chance.below(2)] } }));
      if (!about(made.status)) return;
      jobs += 1;
      await delay(chance.below(1_500));
      const at = `${JOBS}/${name}`;
      const fate = chance.below(10);
      if (fate === 0) about((await client.remove(at)).status);
      if (fate === 1) about((await client.merge(at, { spec: { state: 'Cancelled' } })).status);
      if (fate > 3) return;
      for (const state of ['Suspended', 'Running']) {
        about((await client.merge(at, { spec: { state } })).status);
        await delay(chance.below(500));
      }
    };

  const box =
    (chance: Chance) =>
    async (client: Client, n: number): Promise<void> => {
      const at = `${SANDBOXES}/box-${n}`;
      const { resources } = ONE_CPU;
      const made = await client.post(
        SANDBOXES,
        objectOf('Sandbox', `box-${n}`, { image: 'svc/agent-tools', resources }),
      );
      if (!about(made.status)) return;
      about((await client.post(`${at}/exec`, { command: ['true'] })).status);
      for (const state of chance.is(0.5) ? ['Stopped', 'Running'] : []) {
        about((await client.merge(at, { spec: { state } })).status);
        await delay(chance.below(600));
      }
      if (chance.is(0.8)) about((await client.remove(at)).status);
    };

  /** One for all, which is raised and lowered, and one of a team, which comes and goes. */
  const limit =
    (chance: Chance) =>
    async (client: Client): Promise<void> => {
      const budget = (name: string, spec: object): unknown => objectOf('Budget', name, spec);
      const limitUSD = (least: number, more: number): string => `${least + chance.below(more)}.${chance.below(10)}0`;
      await client.post(BUDGETS, budget('all', { limitUSD: '10.00', period: 'Total' }));
      about(
        (await client.merge(`${BUDGETS}/all`, { spec: { limitUSD: limitUSD(3 + Math.ceil(done / 20), 15) } })).status,
      );
      const team = `${BUDGETS}/team`;
      const matchLabels = { team: 'a' };
      const made = await client.post(
        BUDGETS,
        budget('team', { limitUSD: limitUSD(2, 4), scope: { selector: { matchLabels } } }),
      );
      if (made.status !== 201)
        about((await client.merge(team, { spec: { limitUSD: limitUSD(2 + Math.ceil(done / 40), 9) } })).status);
      await delay(chance.below(1_000));
      if (chance.is(0.2)) about((await client.remove(team)).status);
    };

  const sweep = async (client: Client): Promise<void> => {
    const template = { spec: { ...ONE_CPU, command: sh('sleep 0.5') } };
    const spec = { repetitions: 60, maxParallel: 4, maxCostUSD: '4.00', template };
    about((await client.post(SWEEPS, objectOf('Sweep', 'capped', spec))).status);
    const { body } = await client.get(`${SWEEPS}/capped`);
    // Raised when its cells have used it up.
    if (textAt(body, 'status', 'reason') === 'MaxCostReached')
      about((await client.merge(`${SWEEPS}/capped`, { spec: { maxCostUSD: '8.00' } })).status);
    await delay(500);
  };

  return {
    done: () => done,
    summary: () => `${done} things acknowledged, ${jobs} Jobs, ${refused} refused for want of money`,
    async run(stop) {
      const clients = Array.from({ length: JOB_CLIENTS }, (_, id) => spend(id, chanceFrom(seed + id + 1)));
      const others = [box(chanceFrom(seed + 101)), limit(chanceFrom(seed + 102)), sweep];
      await Promise.all([...clients, ...others].map((turn) => forever(stop, turn)));
    },
  };
}
