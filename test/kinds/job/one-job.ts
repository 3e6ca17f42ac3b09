/** One Job by itself, whose machine is asked message by message. */
import type { Address } from '../../../src/api/address.js';
import type { ApiObject } from '../../../src/api/object.js';
import type { Effect, LaterEffect } from '../../../src/kinds/effect.js';
import type { HoldRefusal } from '../../../src/money/operation.js';
import { attemptName } from '../../../src/kinds/attempts/names.js';
import { jobKind } from '../../../src/kinds/job/index.js';
import { slotTableStore } from '../../../src/kinds/job/slots.js';
import type { JobStatus } from '../../../src/kinds/job/status.js';
import type { Decision, Message, SlotRow } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { contextAt, NOW, objectOf } from '../decide.js';

export const ADDRESS: Address = { org: 'o-1', kind: 'Job', project: 'default', name: 'one' };

/** As it is stored, with what its last decision asked for. */
export class Job {
  object: ApiObject;
  kept: unknown;
  readonly table = slotTableStore.open([]);
  last: Decision<unknown, unknown, unknown> = { outcome: 'Ignored' };

  constructor(spec: object = {}) {
    const whole = { command: ['true'], completions: 2, parallelism: 2, backoffLimit: 6, ...spec };
    this.object = objectOf(jobKind, whole);
    this.decide({ type: 'Created' });
  }

  decide(message: Message, now = NOW): string {
    const current = { address: ADDRESS, object: this.object, private: this.kept };
    this.last = jobKind.machine.decide(current, this.table, message, contextAt(now));
    if (this.last.outcome !== 'Next') return this.last.outcome;
    this.object = { ...this.object, status: this.last.status, spec: this.last.spec ?? this.object.spec };
    this.kept = this.last.private ?? this.kept;
    for (const change of this.last.changes ?? []) slotTableStore.apply(this.table, change as SlotRow);
    return 'Next';
  }

  /** A client's write. */
  change(spec: object, now = NOW): string {
    const before = this.object;
    this.object = { ...before, spec: { ...Object(before.spec), ...spec } };
    return this.decide({ type: 'Updated', before }, now);
  }

  fires(timer: string, now: number): string {
    return this.decide({ type: 'TimerFired', timer, generation: 1 }, now);
  }

  tell(content: ObjectMessage): string {
    return this.decide({ type: 'MessageReceived', from: { address: ADDRESS, uid: 'uid-0', version: 0 }, content });
  }

  /** The Attempt of this index could not be made. */
  refuse(index: number, epoch: number, shortfall: HoldRefusal, reason = 'BudgetExceeded'): string {
    const name = attemptName(this.object.metadata, index, epoch);
    const effect = { type: 'CreateChild', kind: 'Attempt', name, spec: { slot: index, epoch } } as const;
    return this.decide({ type: 'EffectFailed', effect, reason, message: 'refused', shortfall });
  }

  hear(slot: number, epoch: number, phase: string, more: object = {}): string {
    const content = {
      ...{ type: 'AttemptChanged', slot, epoch, phase, lost: false, reason: '', message: '', time: NOW },
      ...more,
    } as ObjectMessage;
    const address = { ...ADDRESS, kind: 'Attempt', name: 'attempt' };
    return this.decide({ type: 'MessageReceived', from: { address, uid: 'a', version: 1 }, content });
  }

  /** Words of the condition OutputsCollected. */
  get collected(): string | undefined {
    const found = (this.object.status as JobStatus).conditions?.find(({ type }) => type === 'OutputsCollected');
    return found && `${found.status} ${found.message}`;
  }

  get status(): JobStatus {
    return this.object.status as JobStatus;
  }

  get effects(): readonly Effect[] {
    return this.last.outcome === 'Next' ? this.last.effects : [];
  }

  /** Timers that were armed or cancelled just now, in seconds from NOW. */
  get timers(): readonly string[] {
    return this.effects.flatMap((effect) => {
      if (effect.type === 'CancelTimer') return [`no ${effect.timer}`];
      return effect.type === 'ArmTimer' ? [`${effect.timer} ${(effect.at - NOW) / 1000}`] : [];
    });
  }

  /** Reasons of the stops that were asked for just now. */
  get stops(): readonly string[] {
    return stopsOf(this.effects);
  }

  get sent(): readonly LaterEffect[] {
    return this.last.outcome === 'Volatile' ? this.last.volatile : [];
  }

  /** Attempts that the last decision asked for: `<index>.<epoch>`. */
  get made(): readonly string[] {
    return this.last.outcome === 'Next'
      ? this.last.effects.flatMap((effect) => {
          if (effect.type !== 'CreateChild') return [];
          const { slot, epoch } = effect.spec as { slot: number; epoch: number };
          return [`${slot}.${epoch}`];
        })
      : [];
  }

  get volatile(): readonly LaterEffect[] {
    return this.last.outcome === 'Next' ? (this.last.volatile ?? []) : this.sent;
  }
}

/** Reasons of stops, and what other messages there are. */
export function stopsOf(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) => {
    if (effect.type !== 'Tell') return [];
    return effect.message.type === 'StopAttempt' ? [effect.message.reason] : [effect.message.type];
  });
}
