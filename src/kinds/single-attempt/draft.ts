/** One decision of a Sandbox or Workspace while it is being made: what the object keeps, what its client asks for, and the effects so far. */
import type { Author } from '../../api/access/author.js';
import type { Address } from '../../api/address.js';
import { setCondition } from '../../api/conditions.js';
import type { ApiObject } from '../../api/object.js';
import { toDecision } from '../attempts/decision.js';
import { attemptName } from '../attempts/names.js';
import type { AttemptOwner } from '../attempts/requests.js';
import { payerOf } from '../attempts/payer.js';
import { showAdmitted } from '../attempts/terms.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { Current, Decision, DecisionContext } from '../machine.js';
import { limitsOf } from '../shapes/resources.js';
import {
  ATTEMPT_FINALIZER,
  type Live,
  type SingleAttemptPrivate,
  type SingleAttemptSpec,
  type SingleAttemptStatus,
} from './state.js';

/** What one kind says of its own Attempts. */
export interface SingleAttemptRules {
  /** Its Attempts carry the object's name by this label. */
  readonly label: string;
  /** Idle for so long it stops; undefined: never. */
  readonly idleTimeoutMs: number | undefined;
  /** Before this it is not idle: it was started ahead of the time that it is wanted for. */
  readonly idleFrom?: number | undefined;
}

export class SingleAttemptDraft<
  Spec extends SingleAttemptSpec = SingleAttemptSpec,
  Status extends SingleAttemptStatus = SingleAttemptStatus,
  Kept extends SingleAttemptPrivate = SingleAttemptPrivate,
> {
  readonly object: ApiObject<Spec, Status>;
  readonly self: Address;
  readonly rules: SingleAttemptRules;
  readonly owner: AttemptOwner;
  readonly now: number;
  private: Kept;
  /** Status as the message has changed it so far; its phase and what follows from it come last. */
  status: Status;
  /** `spec.state`, which an idle stop and the like set as a client would. */
  state: 'Running' | 'Stopped';
  /** True from the moment in which its deletion is asked for, by its client or by itself. */
  deleting: boolean;
  /** True while something else must come first: nothing is started until then. */
  held = false;
  readonly effects: Effect[] = [];
  /** What is only said again; not worth a commit of its own. */
  readonly reminders: LaterEffect[] = [];

  constructor(
    self: Address,
    object: ApiObject<Spec, Status>,
    kept: Kept,
    rules: SingleAttemptRules,
    { now, prices }: Pick<DecisionContext, 'now' | 'prices'>,
  ) {
    this.object = object;
    this.self = self;
    this.rules = rules;
    this.owner = {
      ...{ self, object, wantsProof: true },
      labels: () => ({ [rules.label]: object.metadata.name }),
      terms: () => showAdmitted(limitsOf(object.spec.resources), prices),
      payer: () => payerOf(self, object.metadata, this.private.payer),
    };
    this.now = now;
    this.private = kept;
    this.status = object.status;
    this.state = object.spec.state;
    this.deleting = object.metadata.deletionTimestamp !== undefined;
  }

  get live(): Live | undefined {
    return this.private.live;
  }

  /** Something of it should run. */
  get wanted(): boolean {
    return !this.deleting && !this.held && this.state === 'Running' && this.private.failure === undefined;
  }

  attemptName(epoch: number): string {
    return attemptName(this.object.metadata, 0, epoch);
  }

  keep(change: Partial<Kept>): void {
    this.private = { ...this.private, ...change };
  }

  keepLive(change: Partial<Live>): void {
    const { live } = this.private;
    if (live !== undefined) this.private = { ...this.private, live: { ...live, ...change } };
  }

  say(change: Partial<Status>): void {
    this.status = { ...this.status, ...change };
  }

  condition(type: string, holds: boolean, reason: string, message: string): void {
    const next = { type, status: holds ? ('True' as const) : ('False' as const), reason, message };
    this.status = { ...this.status, conditions: [...setCondition(this.status.conditions, next, this.now)] };
  }

  /** It is to end now, as if its client had asked for that. */
  remove(): void {
    if (this.deleting) return;
    this.deleting = true;
    this.effects.push({ type: 'DeleteSelf' });
  }

  /** It stops, as if its client had asked for that, and says why: in one word, and in a sentence for people. */
  stop(reason: string, message: string): void {
    this.state = 'Stopped';
    this.private = { ...this.private, stopMessage: message };
    this.status = { ...this.status, stopReason: reason };
  }
}

/** The sentence of `status.message` for a stop that a client asked for. `by` is absent for a write that the service made itself. */
export function stoppedBy(by: Author | undefined): string {
  return by === undefined ? 'Stopped as its spec asks' : `Stopped by ${by.name}`;
}

/** The finished draft as a decision. `holds`: the object must not go yet. */
export function decisionOf<
  Spec extends SingleAttemptSpec,
  Status extends SingleAttemptStatus,
  Kept extends SingleAttemptPrivate,
>(
  current: Current<Spec, Status, Kept>,
  draft: SingleAttemptDraft<Spec, Status, Kept>,
  status: Status,
  holds: boolean,
): Decision<Status, Kept, never> {
  const { spec, metadata } = draft.object;
  const held = metadata.finalizers ?? [];
  const others = held.filter((name) => name !== ATTEMPT_FINALIZER);
  const finalizers = holds ? [...others, ATTEMPT_FINALIZER] : others;
  return toDecision(current, draft, {
    status,
    spec: draft.state === spec.state ? undefined : { ...spec, state: draft.state },
    finalizers: finalizers.length === held.length ? undefined : finalizers,
  });
}
