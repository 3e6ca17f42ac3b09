/** Opens what carries out the effects of commits: the effect runner and the timers. Connects both to the actors. */
import type { Address } from '../src/api/address.js';
import { serviceRequest } from './caller.js';
import type { ActorsDeps } from './deps.js';
import { openEffectRunner } from './effects/runner.js';
import { carryOut, type EffectDeps } from './effects/table.js';
import type { MoneyPart } from './open-money.js';
import type { ObjectsPart } from './open-objects.js';
import type { WorkPart } from './open-work.js';
import { recover } from './recovery.js';
import type { ServiceWrite } from './effects/children.js';
import type { WriteReply } from './resource-service.js';

export async function openEffects(deps: ActorsDeps, objects: ObjectsPart, work: WorkPart, money: MoneyPart) {
  const { kinds, pending, stopping } = deps;
  const { router, afterCommit } = objects;
  const serviceWrite = (address: Address, write: ServiceWrite): Promise<WriteReply> =>
    objects.write(address, serviceRequest(address.org, write));
  const effectDeps: EffectDeps = {
    ...work.deps,
    ...{ router, pending, stopping, objects: objects.objects, quiet: objects.admission.quiet, write: serviceWrite },
    ...{ forgetBlobs: deps.forgetBlobs, abandonDeliveries: deps.abandonDeliveries },
    ...{ askCost: money.askCost, awaitMoney: money.awaitMoney },
  };
  const runner = openEffectRunner({
    ...{ pending, stopping, chance: Math.random, onOutcome: deps.observe.effect },
    carryOut: (task, attempt) => carryOut(task, effectDeps, attempt),
    giveBack: ({ row, effect }, reason, message, shortfall) =>
      router.deliver(row.address, row.uid, { type: 'EffectFailed', effect, reason, message, shortfall }),
  });
  const timers = await deps.openTimers(({ address, uid, timer, generation }) => {
    void router.deliver(address, uid, { type: 'TimerFired', timer, generation });
  });
  afterCommit.connect({
    effects: runner.take,
    volatile: runner.takeVolatile,
    timers(address, uid, writes) {
      for (const { op, timer, generation, ...rest } of writes) {
        if (op === 'arm' && 'at' in rest) timers.arm({ address, uid, timer, generation, at: rest.at });
        else timers.clear({ uid, timer, generation });
      }
    },
  });
  return {
    runner,
    timers,
    serviceWrite,
    /** Takes up what was under way; resolves when everything has been activated. */
    async start(): Promise<void> {
      const working = await work.attempts.recall(deps, stopping);
      const unfinished = kinds.filter(({ machine }) => machine.isTerminal).map(({ kind }) => kind);
      await recover({ pending, effects: runner, router, kinds: unfinished, rearmTimers: timers.rearm, stopping });
      await work.deps.reports?.start();
      await work.deps.reports?.missLost(working, runner.workPending);
    },
  };
}
