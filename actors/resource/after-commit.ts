/**
 * What a commit hands on when it is done: its stored effects, messages that nothing stored asks for, and timers.
 *
 * Effects reach other actors, so what carries them out is opened after the actors, and connected before the first of them runs. This
 * is the one circle of the runtime.
 */
import type { Address } from '../../src/api/address.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { FundedHold, TimerWrite } from '../../storage/commit/request.js';
import type { StoredEffects } from '../../storage/store.js';

export interface AfterCommit {
  /** Takes the stored effects of a commit; carries them out in order per object and target. */
  effects(stored: StoredEffects): void;
  /** Sends messages that nothing stored asks for. */
  volatile(address: Address, uid: string, messages: readonly LaterEffect[]): void;
  /** Arms and clears the timers whose rows this commit wrote or removed. */
  timers(address: Address, uid: string, writes: readonly TimerWrite[]): void;
  /** How long the work of this Attempt is paid. Before the effects of the same commit. */
  funded(uid: string, funded: FundedHold): void;
  /** Attempts that commits of this org have asked for and that are not made yet. */
  attemptsAsked(org: string): number;
}

export interface AfterCommitSwitch extends AfterCommit {
  connect(to: AfterCommit): void;
}

export function openAfterCommit(): AfterCommitSwitch {
  let target: AfterCommit | undefined;
  function connected(): AfterCommit {
    if (target === undefined) throw new Error('a commit came before what carries its effects out');
    return target;
  }
  return {
    connect: (to) => void (target = to),
    effects: (stored) => connected().effects(stored),
    volatile: (address, uid, messages) => connected().volatile(address, uid, messages),
    timers: (address, uid, writes) => connected().timers(address, uid, writes),
    funded: (uid, funded) => connected().funded(uid, funded),
    attemptsAsked: (org) => connected().attemptsAsked(org),
  };
}
