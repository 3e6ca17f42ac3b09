/** Owns one decision while it is being made: what the object keeps, what its client asks for, and the effects so far. */
import type { Address } from '../../api/address.js';
import { setCondition } from '../../api/conditions.js';
import type { ApiObject } from '../../api/object.js';
import type { Effect, LaterEffect } from '../effect.js';
import { RESYNC_MS } from './policy.js';
import type { Live, SingleAttemptPrivate, SingleAttemptSpec, SingleAttemptStatus } from './state.js';

/** What one kind says of its own sessions. */
export interface SingleAttemptRules {
  /** Its Attempts carry the object's name by this label. */
  readonly label: string;
  /** Idle for so long it stops; undefined: never. */
  readonly idleTimeoutMs: number | undefined;
}

export class SingleAttemptDraft<
  Spec extends SingleAttemptSpec = SingleAttemptSpec,
  Status extends SingleAttemptStatus = SingleAttemptStatus,
  Kept extends SingleAttemptPrivate = SingleAttemptPrivate,
> {
  readonly object: ApiObject<Spec, Status>;
  readonly self: Address;
  readonly rules: SingleAttemptRules;
  readonly now: number;
  private: Kept;
  /** Status as the message has changed it so far; its phase and what follows from it come last. */
  status: Status;
  /** `spec.state`, which an idle stop and the like set as a client would. */
  state: 'Running' | 'Stopped';
  /** True from the moment in which its deletion is asked for, by whomever. */
  deleting: boolean;
  /** True while something else must come first: nothing is started until then. */
  held = false;
  readonly effects: Effect[] = [];
  /** What is only said again; not worth a commit of its own. */
  readonly reminders: LaterEffect[] = [];

  constructor(self: Address, object: ApiObject<Spec, Status>, kept: Kept, rules: SingleAttemptRules, now: number) {
    this.object = object;
    this.self = self;
    this.rules = rules;
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

  /** What was not delivered is said again after a while. */
  resyncLater(afterMs: number = RESYNC_MS): void {
    const { timers } = this.private;
    if (timers['resync'] !== undefined) return;
    const at = this.now + afterMs;
    this.effects.push({ type: 'ArmTimer', timer: 'resync', at });
    this.private = { ...this.private, timers: { ...timers, resync: at } };
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
