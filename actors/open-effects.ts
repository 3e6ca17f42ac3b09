/** Opens what carries out the effects of commits: the effect runner and the timers. Connects both to the actors. */
import type { Address } from '../src/api/address.js';
import { serviceRequest } from './caller.js';
import type { ActorsDeps } from './deps.js';
import { openEffectRunner } from './effects/runner.js';
import { carryOut, type EffectDeps } from './effects/table.js';
import type { MoneyPart } from './open-money.js';
import type { ObjectsPart } from './open-objects.js';
import type { PaymentsPart } from './open-payments.js';
import type { WorkPart } from './open-work.js';
import { heldObjects, recover, wakeUnfinished } from './recovery.js';
import type { ServiceWrite } from './effects/children.js';
import type { WriteReply } from './resource-service.js';
import { openSlices } from './slices.js';
import { ATTEMPT } from './work/attempts.js';

const CATCH_UP_MS = 5_000;

export async function openEffects(
  deps: ActorsDeps,
  {
    objects,
    work,
    money,
    payments,
  }: { objects: ObjectsPart; work: WorkPart; money: MoneyPart; payments: PaymentsPart },
) {
  const { kinds, pending, stopping } = deps;
  const { router, afterCommit } = objects;
  const serviceWrite = (address: Address, write: ServiceWrite): Promise<WriteReply> =>
    objects.write(address, serviceRequest(address.org, write));
  /** For all that is woken beside clients. */
  const waking = {
    ...{ pending, router, stopping, slices: openSlices(0) },
    onProblem: (message: string) =>
      deps.observe.problem('running work', `what was under way is woken later: ${message}`),
  };
  const effectDeps: EffectDeps = {
    ...work.deps,
    ...waking,
    ...{ objects: objects.objects, quiet: objects.admission.quiet, write: serviceWrite },
    ...{ forgetBlobs: deps.forgetBlobs, abandonDeliveries: deps.abandonDeliveries },
    ...{ processor: payments.processor, settlePayment: payments.settle, paymentBase: deps.endpoints?.pages ?? '' },
    ...{ clock: deps.clock, askBalance: payments.askBalance },
    ...{ askCost: money.askCost, awaitMoney: money.awaitMoney, workBegun: money.workBegun },
  };
  const runner = openEffectRunner({
    ...{ pending, stopping, chance: Math.random, onOutcome: deps.observe.effect },
    published: () => objects.hub.version,
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
    funded: work.fundedTimes.committed,
    attemptsAsked: runner.attemptsAsked,
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
    /** Resolves when what ended while nobody was there is known, as far as it is known within some seconds. */
    caughtUp: (): Promise<void> => work.deps.reports?.settled(CATCH_UP_MS) ?? Promise.resolve(),
    /** Takes up what was under way; resolves when all that holds a place has been activated. The rest is woken beside clients. */
    async start(): Promise<void> {
      const held = await heldObjects(ATTEMPT, waking);
      const working = await work.attempts.recall(held, deps, stopping);
      for (const { uid, address } of working) money.workBegun(uid, address);
      await recover(held, { ...waking, effects: runner, rearmTimers: timers.rearm });
      await work.deps.reports?.start();
      await work.deps.reports?.missLost(working, runner.workPending);
      const unfinished = kinds.filter(({ machine }) => machine.isTerminal).map(({ kind }) => kind);
      void wakeUnfinished(unfinished, waking);
    },
  };
}
