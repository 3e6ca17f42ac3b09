/**
 * Which of the commits that wait share the next transaction. An address (so a uid) and an Idempotency-Key are under way at
 * most once; a later one of them waits for the group after, and nothing overtakes another of its own org but that.
 *
 * When more wait than fit, orgs take turns: one commit of each, then a second of each, those first whose last turn is
 * longest ago. So an org with thousands that wait holds up a commit of another org by one group. The Nodes take turns of
 * their own: every org waits for what they grant, whichever org they stand in.
 */
import { turnsOf, type Queued } from './queued-commit.js';

/** Commits per transaction: beyond it p50 grows and throughput does not (measured). */
const MOST_MEMBERS = 64;
/** Bytes per transaction, so that large objects do not make large transactions. One commit always goes. */
const MOST_BYTES = 8 * 1024 * 1024;

export interface Groups<One extends Queued> {
  /** `waiting` in the order of coming; `left` of it as well. Marks as under way what it takes. */
  take(waiting: readonly One[]): { readonly group: One[]; readonly left: One[] };
  /** Its fate is known: what has waited for it may go. */
  ended(group: readonly One[]): void;
}

export function openGroups<One extends Queued>(): Groups<One> {
  const underWay = new Set<string>();
  let number = 0;
  /** The group in which an org had its last turn; of those alone that have waited since there were more than fit. */
  let lastTurns = new Map<string, number>();

  function take(order: Iterable<One>): One[] {
    const group: One[] = [];
    let bytes = 0;
    for (const queued of order) {
      if (group.length > 0 && bytes + queued.bytes > MOST_BYTES) break;
      if (queued.keys.some((key) => underWay.has(key))) continue;
      for (const key of queued.keys) underWay.add(key);
      bytes += queued.bytes;
      if (group.push(queued) === MOST_MEMBERS) break;
    }
    return group;
  }

  function takeByTurns(waiting: readonly One[]): One[] {
    const queues = new Map<string, One[]>();
    for (const queued of waiting) {
      const others = queues.get(turnsOf(queued));
      if (others === undefined) queues.set(turnsOf(queued), [queued]);
      else others.push(queued);
    }
    const turnOf = (org: string): number => lastTurns.get(org) ?? 0;
    const orgs = [...queues.keys()].toSorted((a, b) => turnOf(a) - turnOf(b));
    const group = take(rounds(orgs.map((org) => queues.get(org) ?? [])));
    number += 1;
    const served = new Set(group.map(turnsOf));
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

function without<One extends Queued>(waiting: readonly One[], group: readonly One[]): One[] {
  // As a rule the first ones go, all of them or as many as fit.
  if (group.every((queued, i) => queued === waiting[i])) return waiting.slice(group.length);
  const taken = new Set(group);
  return waiting.filter((queued) => !taken.has(queued));
}

function allFit(waiting: readonly Queued[]): boolean {
  return waiting.length <= MOST_MEMBERS && waiting.reduce((sum, { bytes }) => sum + bytes, 0) <= MOST_BYTES;
}

function ofOneOrg(waiting: readonly Queued[]): boolean {
  const [first] = waiting;
  return first === undefined || waiting.every((queued) => turnsOf(queued) === turnsOf(first));
}

/** The first of each queue, then the second of each that has one, and so on. */
function* rounds<One extends Queued>(queues: readonly (readonly One[])[]): Generator<One> {
  let left = queues;
  for (let round = 0; left.length > 0; round += 1) {
    for (const queue of left) {
      const queued = queue[round];
      if (queued !== undefined) yield queued;
    }
    left = left.filter(({ length }) => length > round + 1);
  }
}
