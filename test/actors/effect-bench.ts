/** An effect runner whose effects a test carries out, and what its tests take. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EffectTask, EffectTry } from '../../actors/effects/definition.js';
import { openEffectRunner, type EffectRunner } from '../../actors/effects/runner.js';
import type { EffectStep } from '../../actors/effects/outcome.js';
import type { Delivery } from '../../actors/mailbox.js';
import type { Address } from '../../src/api/address.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { EffectsOf, StoredEffects } from '../../storage/store.js';
import { THING } from './support.js';

export const tell = (name: string): LaterEffect => ({
  type: 'Tell',
  to: { ...THING, name },
  message: { type: 'ChildrenGone' },
});

export const row = (version: number, ...effects: LaterEffect[]): StoredEffects => ({
  version,
  address: THING,
  uid: 'u-1',
  effects,
});

function isOf({ org, kind }: Address, of: EffectsOf): boolean {
  return of.org === org && of.kinds.includes(kind) === of.among;
}

interface Bench {
  readonly runner: EffectRunner;
  readonly done: number[];
  readonly returned: { version: number; reason: string }[];
  readonly stop: AbortController;
}

export function bench(
  carryOut: (task: EffectTask, attempt: EffectTry) => Promise<EffectStep>,
  stored: StoredEffects[] = [],
  asker: Delivery = 'Done',
  published = () => Infinity,
): Bench {
  const stop = new AbortController();
  const done: number[] = [];
  const returned: { version: number; reason: string }[] = [];
  const runner = openEffectRunner({
    pending: {
      effects: async (after, limit, of) =>
        stored
          .filter(({ version, address }) => version > after && (of === undefined || isOf(address, of)))
          .slice(0, limit),
      effectsOrgs: async (kinds) => stored.map(({ address: { org, kind } }) => ({ org, among: kinds.includes(kind) })),
      effectsAt: async (versions) => stored.filter(({ version }) => versions.includes(version)),
      effectsDone: (version) => {
        done.push(version);
        const at = stored.findIndex((one) => one.version === version);
        if (at >= 0) stored.splice(at, 1);
      },
    },
    published,
    carryOut,
    giveBack: async (task, reason) => {
      returned.push({ version: task.row.version, reason });
      return asker;
    },
    stopping: stop.signal,
    chance: () => 0,
    onOutcome: () => undefined,
    waitMs: 5,
    firstBackoffMs: asker === 'Done' ? undefined : 0.01,
  });
  return { runner, done, returned, stop };
}

export const until = async (condition: () => boolean): Promise<void> => {
  const deadline = Date.now() + 30_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('the condition did not come true in 30 s');
    await sleep(1);
  }
};

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener('abort', () => done(), { once: true });
  });
