/** A Sweep or Pipeline by itself, whose machine is asked message by message. */
import type { Address } from '../../../src/api/address.js';
import type { ApiObject } from '../../../src/api/object.js';
import { ChildTable, childTableStore } from '../../../src/kinds/children/slots.js';
import type { Effect, LaterEffect } from '../../../src/kinds/effect.js';
import type { KindDefinition } from '../../../src/kinds/kind.js';
import type { Message, SlotRow } from '../../../src/kinds/machine.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { contextAt, NOW, objectOf } from '../decide.js';

/** An owner as it is stored, with what its last decision asked for. */
export class Owner {
  object: ApiObject;
  kept: unknown;
  table = new ChildTable();
  effects: readonly Effect[] = [];
  volatile: readonly LaterEffect[] = [];
  readonly address: Address;
  readonly #kind: KindDefinition;

  constructor(kind: KindDefinition, spec: object, agreed?: readonly string[]) {
    this.#kind = kind;
    this.object = objectOf(kind, spec, { name: 'one' });
    this.address = { org: 'o-1', kind: kind.kind, project: 'default', name: 'one' };
    this.decide({ type: 'Created', agreed });
  }

  decide(message: Message, now = NOW): string {
    const current = { address: this.address, object: this.object, private: this.kept };
    const decision = this.#kind.machine.decide(current, this.table, message, contextAt(now));
    this.effects = decision.outcome === 'Volatile' ? decision.volatile : [];
    if (decision.outcome !== 'Next') return decision.outcome;
    this.object = { ...this.object, status: decision.status };
    this.kept = decision.private ?? this.kept;
    this.effects = decision.effects;
    this.volatile = decision.volatile ?? [];
    for (const change of decision.changes ?? []) childTableStore.apply(this.table, change as SlotRow);
    return 'Next';
  }

  change(spec: object): string {
    const before = this.object;
    this.object = { ...before, spec: { ...Object(before.spec), ...spec } };
    const outcome = this.decide({ type: 'Updated', before });
    if (outcome === 'Refused') this.object = before;
    return outcome;
  }

  /** A child says so; its uid is `job-<index>`. */
  hear(
    index: number,
    phase: string,
    more: Partial<Extract<ObjectMessage, { type: 'ChildChanged' }>> = {},
    version = 10,
  ): string {
    const content: ObjectMessage = {
      ...{ type: 'ChildChanged', uid: `job-${index}`, phase, reason: '', message: '', generation: 1 },
      ...(phase === 'Running' && { startedAt: NOW }),
      ...more,
    };
    return this.decide({ type: 'MessageReceived', from: this.from(index, version), content });
  }

  from(index: number, version = 10): Extract<Message, { type: 'MessageReceived' }>['from'] {
    return { address: { ...this.address, kind: 'Job', name: this.job(index) }, uid: `job-${index}`, version };
  }

  /** Name of the Job of this child. */
  job(index: number): string {
    return this.made.get(index) ?? '';
  }

  readonly made = new Map<number, string>();

  asked<Type extends LaterEffect['type']>(type: Type): readonly Extract<LaterEffect, { type: Type }>[] {
    return this.effects.filter((effect): effect is Extract<LaterEffect, { type: Type }> => effect.type === type);
  }

  /** Remembers the names of the children that were asked for just now. */
  note(): this {
    for (const { slot = -1, name } of this.asked('CreateChild')) this.made.set(slot, name);
    return this;
  }

  phase(index: number): string | undefined {
    return this.table.slot(index)?.phase;
  }
}
