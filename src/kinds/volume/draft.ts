/** Owns one decision of a Volume while it is being made. */
import type { Address } from '../../api/address.js';
import { setCondition } from '../../api/conditions.js';
import type { Effect, LaterEffect } from '../effect.js';
import type { ObjectMessage } from '../object-message.js';
import type { Current } from '../machine.js';
import type { VolumeSpec, VolumeStatus } from './schema.js';
import type { Volume, VolumePrivate } from './state.js';

export class VolumeDraft {
  readonly volume: Volume;
  readonly self: Address;
  readonly now: number;
  private: VolumePrivate;
  status: VolumeStatus;
  readonly effects: Effect[] = [];
  /** Answers that change nothing: whoever misses one asks again. */
  readonly letters: LaterEffect[] = [];

  constructor({ object, address, private: kept }: Current<VolumeSpec, VolumeStatus, VolumePrivate>, now: number) {
    this.volume = object;
    this.self = address;
    this.now = now;
    this.private = kept ?? { revisions: [], waiting: [], timers: {} };
    this.status = object.status;
  }

  get deleting(): boolean {
    return this.volume.metadata.deletionTimestamp !== undefined;
  }

  keep(change: Partial<VolumePrivate>): void {
    this.private = { ...this.private, ...change };
  }

  condition(type: string, holds: boolean, reason: string, message: string): void {
    const next = { type, status: holds ? ('True' as const) : ('False' as const), reason, message };
    this.status = { ...this.status, conditions: [...setCondition(this.status.conditions, next, this.now)] };
  }

  /** With a uid, only that incarnation gets it. `stored`: it belongs to a change of this decision, and is sent after its commit at least once. */
  tell(
    to: { readonly kind: string; readonly name: string; readonly uid?: string | undefined },
    letter: ObjectMessage,
    stored: boolean,
  ): void {
    const { org, project } = this.self;
    const address: Address = { org, kind: to.kind, project, name: to.name };
    const effect: LaterEffect = { type: 'Tell', to: address, uid: to.uid, letter };
    if (stored) this.effects.push(effect);
    else this.letters.push(effect);
  }
}
