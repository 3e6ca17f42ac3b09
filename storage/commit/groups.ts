/**
 * Which of the members that wait share the next transaction. An address (so a uid) and an Idempotency-Key are under way at
 * most once; a later one of them waits for the group after, and nothing overtakes another of its own org but that.
 *
 * When more wait than fit, orgs take turns: one member of each, then a second of each, those first whose last turn is
 * longest ago. So an org with thousands that wait holds up a member of another by one group.
 */
import type { Entry } from './entry.js';

/** Members per transaction: beyond it p50 grows and throughput does not (measured). */
const MOST_MEMBERS = 64;
/** Bytes per transaction, so that large objects do not make large transactions. One member always goes. */
const MOST_BYTES = 8 * 1024 * 1024;

export interface Groups {
  /** `waiting` in the order of coming; `left` of it as well. Marks as under way what it takes. */
  take(waiting: readonly Entry[]): { readonly group: Entry[]; readonly left: Entry[] };
  /** Its fate is known: what has waited for it may go. */
  ended(group: readonly Entry[]): void;
}

export function openGroups(): Groups {
  const underWay = new Set<string>();
  let number = 0;
  /** The group in which an org had its last turn; of those alone that have waited since there were more than fit. */
  let lastTurns = new Map<string, number>();

  function take(order: Iterable<Entry>): Entry[] {
    const group: Entry[] = [];
    let bytes = 0;
    for (const entry of order) {
      if (group.length > 0 && bytes + entry.bytes > MOST_BYTES) break;
      if (entry.keys.some((key) => underWay.has(key))) continue;
      for (const key of entry.keys) underWay.add(key);
      bytes += entry.bytes;
      if (group.push(entry) === MOST_MEMBERS) break;
    }
    return group;
  }

  function takeByTurns(waiting: readonly Entry[]): Entry[] {
    const queues = new Map<string, Entry[]>();
    for (const entry of waiting) {
      const others = queues.get(orgOf(entry));
      if (others === undefined) queues.set(orgOf(entry), [entry]);
      else others.push(entry);
    }
    const turnOf = (org: string): number => lastTurns.get(org) ?? 0;
    const orgs = [...queues.keys()].toSorted((a, b) => turnOf(a) - turnOf(b));
    const group = take(rounds(orgs.map((org) => queues.get(org) ?? [])));
    number += 1;
    const served = new Set(group.map(orgOf));
    lastTurns = new Map(orgs.map((org) => [org, served.has(org) ? number : turnOf(org)]));
    return group;
  }

  return {
    take(waiting) {
      const shared = !allFit(waiting) && !ofOneOrg(waiting);
      const group = shared ? takeByTurns(waiting) : take(waiting);
      if (!shared) lastTurns.clear();
      return { group, left: without(waiting, group) };
    },
    ended(group) {
      for (const { keys } of group) for (const key of keys) underWay.delete(key);
    },
  };
}

function without(waiting: readonly Entry[], group: readonly Entry[]): Entry[] {
  // As a rule the first ones go, all of them or as many as fit.
  if (group.every((entry, i) => entry === waiting[i])) return waiting.slice(group.length);
  const taken = new Set(group);
  return waiting.filter((entry) => !taken.has(entry));
}

function orgOf({ member }: Entry): string {
  return member.address.org;
}

function allFit(waiting: readonly Entry[]): boolean {
  return waiting.length <= MOST_MEMBERS && waiting.reduce((sum, { bytes }) => sum + bytes, 0) <= MOST_BYTES;
}

function ofOneOrg(waiting: readonly Entry[]): boolean {
  const [first] = waiting;
  return first === undefined || waiting.every((entry) => orgOf(entry) === orgOf(first));
}

/** The first of each queue, then the second of each that has one, and so on. */
function* rounds(queues: readonly (readonly Entry[])[]): Generator<Entry> {
  let left = queues;
  for (let round = 0; left.length > 0; round += 1) {
    for (const queue of left) {
      const entry = queue[round];
      if (entry !== undefined) yield entry;
    }
    left = left.filter(({ length }) => length > round + 1);
  }
}
