/** Owns one decision of a Sandbox while it is being made: what it keeps, what its client asks for, and the effects so far. */
import type { Address } from '../../api/address.js';
import { setCondition } from '../../api/conditions.js';
import { parseTime } from '../../api/time.js';
import type { Effect, LaterEffect } from '../effect.js';
import { RESYNC_MS } from './policy.js';
import type { SandboxStatus } from './schema.js';
import { FRESH, type Live, type Sandbox, type SandboxPrivate } from './state.js';

export class SandboxDraft {
  readonly sandbox: Sandbox;
  readonly self: Address;
  readonly now: number;
  private: SandboxPrivate;
  /** Status as the message has changed it so far; its phase and what follows from it come last. */
  status: SandboxStatus;
  /** `spec.state`, which an idle stop and the like set as a client would. */
  state: 'Running' | 'Stopped';
  /** True from the moment in which its deletion is asked for, by whomever. */
  deleting: boolean;
  readonly effects: Effect[] = [];
  /** What is only said again; not worth a commit of its own. */
  readonly reminders: LaterEffect[] = [];

  constructor(sandbox: Sandbox, self: Address, kept: SandboxPrivate | undefined, now: number) {
    this.sandbox = sandbox;
    this.self = self;
    this.now = now;
    this.private = kept ?? FRESH;
    this.status = sandbox.status;
    this.state = sandbox.spec.state;
    this.deleting = sandbox.metadata.deletionTimestamp !== undefined;
  }

  get live(): Live | undefined {
    return this.private.live;
  }

  /** Something of it should run. */
  get wanted(): boolean {
    return !this.deleting && this.state === 'Running' && this.private.failure === undefined;
  }

  get snapshots(): boolean {
    return this.sandbox.spec.continuity.mode === 'Snapshotted';
  }

  get createdAt(): number {
    return parseTime(this.sandbox.metadata.creationTimestamp) ?? this.now;
  }

  keep(change: Partial<SandboxPrivate>): void {
    this.private = { ...this.private, ...change };
  }

  keepLive(change: Partial<Live>): void {
    const { live } = this.private;
    if (live !== undefined) this.keep({ live: { ...live, ...change } });
  }

  say(change: Partial<SandboxStatus>): void {
    this.status = { ...this.status, ...change };
  }

  condition(type: string, holds: boolean, reason: string, message: string): void {
    const next = { type, status: holds ? ('True' as const) : ('False' as const), reason, message };
    this.say({ conditions: [...setCondition(this.status.conditions, next, this.now)] });
  }

  /** What was not delivered is said again after a while. */
  resyncLater(): void {
    if (this.private.timers['resync'] !== undefined) return;
    const at = this.now + RESYNC_MS;
    this.effects.push({ type: 'ArmTimer', timer: 'resync', at });
    this.keep({ timers: { ...this.private.timers, resync: at } });
  }

  /** It is to end now, as if its client had asked for that. */
  remove(): void {
    if (this.deleting) return;
    this.deleting = true;
    this.effects.push({ type: 'DeleteSelf' });
  }

  /** It stops, as if its client had asked for that, and says why. */
  stop(reason: string): void {
    this.state = 'Stopped';
    this.say({ stopReason: reason });
  }
}
