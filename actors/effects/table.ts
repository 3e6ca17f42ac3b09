/**
 * The table of the effects that are carried out after their commit: the lane and the pool of each, and what carries it out. A type of
 * `LaterEffect` without an entry does not compile. Effects that become rows of the commit: `commit-effects.ts`.
 */
import { addressKey, type Address } from '../../src/api/address.js';
import type { LaterEffect } from '../../src/kinds/effect.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import { createChildEffect, deleteChildEffect, patchChildEffect, type ChildrenDeps } from './children.js';
import { collectChildrenEffect, collectProjectEffect } from './collect.js';
import { countPlacesEffect, type CountDeps } from './count-places.js';
import type { EffectOf, EffectTask, EffectTry, LaterEffectDefinition } from './definition.js';
import { DONE, type EffectStep, type PoolName } from './outcome.js';
import {
  chargeCardEffect,
  lookAtPaymentEffect,
  openCheckoutEffect,
  type ProcessorEffectDeps,
} from '../payments/processor-effects.js';
import { removeWorkEffect, startWorkEffect, stopWorkEffect, type WorkDeps } from './work.js';

/** What the effects that are carried out later may use. */
export interface EffectDeps
  extends ChildrenDeps, WorkDeps, Omit<ProcessorEffectDeps, 'objects'>, Omit<CountDeps, 'messagesSent'> {
  /** Gives up what is pending for this endpoint of events up to the version. */
  abandonDeliveries(org: string, endpoint: string, version: number): Promise<void>;
  /** Shows the cost of the object with this uid though it has not changed. */
  askCost(org: string, uid: string): void;
  /** Tells the Wallet of this org its balance anew. */
  askBalance(org: string): void;
  /** Notes that work of this object waits for money. */
  awaitMoney(owner: Address, uid: string, wait: EffectOf<'AwaitMoney'>): void;
}

const EFFECTS: { readonly [Type in LaterEffect['type']]: LaterEffectDefinition<Type, EffectDeps> } = {
  Tell: {
    pool: ({ message }) => (movesPlace(message) ? 'ends' : 'general'),
    laneOf: ({ to }) => addressKey(to),
    run: (row, { to, uid, message }, { tell }) => tell(row, to, uid, message),
  },
  CreateChild: createChildEffect,
  PatchChild: patchChildEffect,
  DeleteChild: deleteChildEffect,
  CollectChildren: collectChildrenEffect,
  CollectProject: collectProjectEffect,
  StartWork: startWorkEffect,
  StopWork: stopWorkEffect,
  RemoveWork: removeWorkEffect,
  CountPlaces: countPlacesEffect,
  OpenCheckout: openCheckoutEffect,
  ChargeCard: chargeCardEffect,
  LookAtPayment: lookAtPaymentEffect,
  AbandonDeliveries: {
    pool: 'general',
    laneOf: () => 'deliveries',
    async run({ address, uid, version }, _effect, { abandonDeliveries }) {
      await abandonDeliveries(address.org, uid, version);
      return DONE;
    },
  },
  AwaitMoney: {
    pool: 'general',
    laneOf: () => 'money',
    run({ address, uid }, effect, { awaitMoney }) {
      awaitMoney(address, uid, effect);
      return Promise.resolve(DONE);
    },
  },
  AskBalance: {
    pool: 'general',
    laneOf: () => 'balance',
    run({ address }, _effect, { askBalance }) {
      askBalance(address.org);
      return Promise.resolve(DONE);
    },
  },
  ShowCost: {
    pool: 'general',
    laneOf: () => 'cost',
    run({ address, uid }, _effect, { askCost }) {
      askCost(address.org, uid);
      return Promise.resolve(DONE);
    },
  },
};

/** A place that is given, or given back. What tells thousands why they wait, or that they wait no longer, must not hold it up. */
function movesPlace(message: ObjectMessage): boolean {
  return message.type === 'PlaceGranted' || (message.type === 'PlaceReleased' && message.waited !== true);
}

export function carryOut({ row, effect }: EffectTask, deps: EffectDeps, attempt: EffectTry): Promise<EffectStep> {
  return definitionOf(effect).run(row, effect, deps, attempt);
}

/** One lane per object and target: effects on one target keep their order, others do not wait for them. */
export function laneKey({ row, effect }: EffectTask): string {
  return `${row.uid}>${targetOf(row.address, effect)}`;
}

export function targetOf(asking: Address, effect: LaterEffect): string {
  return definitionOf(effect).laneOf(effect, asking);
}

export function poolOf(effect: LaterEffect): PoolName {
  const { pool } = definitionOf(effect);
  return typeof pool === 'function' ? pool(effect) : pool;
}

/** True when `later`, which came behind `earlier` in its lane, makes it needless. */
export function overrules(later: LaterEffect, earlier: LaterEffect): boolean {
  return definitionOf(later).overrules?.(later, earlier) ?? false;
}

/** The key of an entry and the type of its effect are the same, which is more than the compiler sees of a union. */
function definitionOf(effect: LaterEffect): LaterEffectDefinition<LaterEffect['type'], EffectDeps> {
  return EFFECTS[effect.type] as LaterEffectDefinition<LaterEffect['type'], EffectDeps>;
}
