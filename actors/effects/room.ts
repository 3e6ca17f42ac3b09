/**
 * How many effects are in hand, and whose may still come into memory. An org's effects are two groups: those of what holds places (Attempts
 * and Nodes) and all others, so that places are given back and taken while thousands of its other objects are collected. What finds no room
 * stays in storage (`left-rows.ts`).
 *
 * I10: MOST effects are held, of them MOST_VOLATILE that are stored nowhere. A group has at most as many as it leaves free, so that another
 * group always finds room.
 */
import type { Address } from '../../src/api/address.js';
import { LOCAL_NODE } from '../../src/kinds/node/local.js';
import { ATTEMPT } from '../work/attempts.js';
import type { EffectTask } from './definition.js';

const MOST = 50_000;
/** These cannot be left in storage, and must not take the room of those that can. */
const MOST_VOLATILE = 20_000;

export const KINDS_OF_PLACES: readonly string[] = [ATTEMPT, LOCAL_NODE.kind];

export interface EffectGroup {
  readonly org: string;
  /** Of the kinds that hold places; false: of all others. */
  readonly ofPlaces: boolean;
}

export function groupOf({ org, kind }: Pick<Address, 'org' | 'kind'>): EffectGroup {
  return { org, ofPlaces: KINDS_OF_PLACES.includes(kind) };
}

export function groupKey({ org, ofPlaces }: EffectGroup): string {
  return `${org}/${ofPlaces ? 'places' : 'others'}`;
}

/** False for a volatile effect, which nothing in storage asks for. */
export function isStored({ row }: EffectTask): boolean {
  return row.version > 0;
}

export class EffectRoom {
  #stored = 0;
  #volatile = 0;
  readonly #storedOf = new Map<string, number>();
  readonly #volatileOf = new Map<string, number>();
  readonly #attemptsAsked = new Map<string, number>();

  get tasks(): number {
    return this.#stored + this.#volatile;
  }

  /** A row of this group stays in storage. */
  isFull(group: EffectGroup): boolean {
    return (this.#storedOf.get(groupKey(group)) ?? 0) >= MOST - this.tasks;
  }

  /** There is so much room again that rows may be read from storage. */
  mayRead(group: EffectGroup): boolean {
    const free = MOST - this.tasks;
    return free > 0 && (this.#storedOf.get(groupKey(group)) ?? 0) <= free / 2;
  }

  isFullOfVolatile(group: EffectGroup): boolean {
    const free = Math.min(MOST_VOLATILE - this.#volatile, MOST - this.tasks);
    return (this.#volatileOf.get(groupKey(group)) ?? 0) >= free;
  }

  /** Attempts of this org that effects in hand are to make. */
  attemptsAsked(org: string): number {
    return this.#attemptsAsked.get(org) ?? 0;
  }

  add(task: EffectTask): void {
    this.#count(task, 1);
  }

  remove(task: EffectTask): void {
    this.#count(task, -1);
  }

  #count(task: EffectTask, by: 1 | -1): void {
    const key = groupKey(groupOf(task.row.address));
    countIn(isStored(task) ? this.#storedOf : this.#volatileOf, key, by);
    if (isStored(task)) this.#stored += by;
    else this.#volatile += by;
    const { row, effect } = task;
    if (effect.type === 'CreateChild' && effect.kind === ATTEMPT) countIn(this.#attemptsAsked, row.address.org, by);
  }
}

function countIn(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
