/**
 * Renews holds when they are due: each second those whose time has come are charged until now and get money for the time ahead, in groups,
 * through the ledger alone. Holds that a new or lowered Budget binds are renewed at once (`rebound-holds.ts`). So a renewal wakes no actor. The Attempt that holds hears of it only when its money ends (`FundingRefused`), or
 * comes back (`FundingRestored`). Each renewal sends the engine until when the work is paid (`work/funded-times.ts`). Blocks, on which requests
 * to models draw, get their parts of a new month and of a new Budget here as well; of them nobody is told, since the next draw says what they have.
 *
 * Nothing is lost in a crash: the time of renewal is in the hold's row, and a refused hold is tried again when its counter has more
 * (`waiting-work.ts`) and once a minute, so a process that does not know what was said says it again; of a hold older than itself it says so in both cases.
 *
 * I10: at most MOST_DUE holds and MOST_REBOUND a round, GROUP in one member of a commit, one member of an org at a time, orgs beside each other. Holds that
 * became due together are so spread over rounds, and stay spread. At most MOST_UNTOLD messages wait for their receiver; what finds no
 * place is said at the next renewal.
 */
import { LRUCache } from 'lru-cache';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import { isBlock } from '../../src/money/draw.js';
import type { Applied, OperationResult } from '../../src/money/operation.js';
import type { CostOwner } from '../../src/money/payer.js';
import type { Committer } from '../../storage/commit/request.js';
import type { DueHold, DueHolds } from '../../storage/ledger/due-holds.js';
import type { FindRebound } from '../../storage/ledger/rebound-holds.js';
import type { Clock } from '../../storage/store.js';
import type { MessageRouter } from '../message-router.js';
import { tick } from './ticker.js';
import { atMost } from '../../src/lru-bound.js';

const EVERY_MS = 1_000;
const MOST_DUE = 1_000;
/** Holds of orgs with a Budget that binds anew, which are looked at. */
const MOST_REBOUND = 500;
/** A member of a commit holds the clock's lock for as long as its operations take. */
const GROUP = 100;
const MOST_UNTOLD = 10_000;
/** A refused hold ends earlier than was said (ms); less is rounding. */
const SOONER_MS = 1_000;
/** Holds of which it is known what their owner has heard. */
const MOST_KNOWN = 100_000;

export interface RenewalDeps {
  due(now: number, limit: number): Promise<DueHolds>;
  readonly rebound: FindRebound;
  /** Holds whose renewal was refused and may get money now. */
  refused(): DueHolds;
  readonly ledger: Committer['ledger'];
  readonly send: MessageRouter['send'];
  /** Takes until when the work of this hold's owner is paid (ms); undefined: nothing limits it. */
  fund(uid: string, until: number | undefined): void;
  readonly clock: Clock;
  onProblem(message: string): void;
}

type Funding = Extract<ObjectMessage, { type: 'FundingRefused' | 'FundingRestored' }>;

interface Untold {
  readonly org: string;
  readonly owner: CostOwner;
  readonly message: Funding;
  sending: boolean;
}

/** Goes on until `stopping` is aborted; resolves then. */
export function renewHolds(deps: RenewalDeps, stopping: AbortSignal): Promise<void> {
  const startedAt = deps.clock();
  /** What the owner of a hold was last told, by org and key. */
  const told = new LRUCache<string, Funding>(atMost(MOST_KNOWN));
  const untold = new Map<string, Untold>();

  function note(org: string, hold: DueHold, result: OperationResult): void {
    if (result.outcome !== 'Applied' || isBlock(hold.key)) return;
    if (result.fundedUntil !== undefined)
      deps.fund(hold.owner.uid, result.limited === true ? result.fundedUntil : undefined);
    const id = `${org}/${hold.key}`;
    const message = messageOf(hold, result);
    if (message === undefined || !isNews(message, told.get(id))) return;
    // A hold that this process saw placed, and never refused, has nothing to be restored.
    if (message.type === 'FundingRestored' && !told.has(id) && hold.placedAt >= startedAt) return;
    if (untold.size >= MOST_UNTOLD && !untold.has(id)) return;
    told.set(id, message);
    untold.set(id, { org, owner: hold.owner, message, sending: false });
  }

  /** One group; whether the ledger took it. */
  async function renew(org: string, holds: readonly DueHold[]): Promise<boolean> {
    const operations = holds.map(
      ({ key, sequence, evenIfChanged }) =>
        ({ op: 'Renew', key, sequence: evenIfChanged ? undefined : sequence }) as const,
    );
    const answer = await deps.ledger(org, operations);
    if (answer.outcome !== 'Committed') return false;
    answer.results.forEach((result, i) => {
      const hold = holds[i];
      if (hold !== undefined) note(org, hold, result);
    });
    return true;
  }

  function tell(): void {
    for (const [id, entry] of untold) {
      if (entry.sending) continue;
      entry.sending = true;
      const { org, owner, message } = entry;
      const { kind, project, name, uid } = owner;
      void deps.send({ org, kind, project, name }, uid, message).then((delivery) => {
        entry.sending = false;
        const heard = delivery === 'Done' || delivery === 'Absent';
        if (heard && untold.get(id) === entry) untold.delete(id);
      });
    }
  }

  async function round(): Promise<void> {
    const due = await deps.due(deps.clock(), MOST_DUE);
    const refused = deps.refused();
    const rebound = await deps.rebound(MOST_REBOUND);
    // The last can wait.
    const kinds = [due, refused, rebound.due];
    const orgs = [...new Set(kinds.flatMap((holds) => [...holds.keys()]))];
    const groups = orgs.map((org) => ({ org, groups: groupsOf(kinds.flatMap((holds) => holds.get(org) ?? [])) }));
    for (let turn = 0; groups.some(({ groups: own }) => turn < own.length); turn++) {
      if (stopping.aborted) return;
      const taken = await Promise.all(
        groups.flatMap(({ org, groups: own }) => {
          const group = own[turn];
          return group === undefined ? [] : [renew(org, group)];
        }),
      );
      tell();
      // The rows stay due.
      if (taken.includes(false)) throw new Error('holds could not be renewed: the ledger did not answer');
    }
    tell();
    await rebound.done();
  }

  return tick({ every: EVERY_MS, round, onProblem: deps.onProblem }, stopping);
}

/** What waits for a place has an amount, and no time that is funded: nothing ends. */
function messageOf({ sequence }: DueHold, { refusal, fundedUntil }: Applied): Funding | undefined {
  // Each renewal raises the sequence by one.
  if (refusal === undefined) return { type: 'FundingRestored', sequence: sequence + 1 };
  if (fundedUntil === undefined) return undefined;
  return { type: 'FundingRefused', shortfall: refusal, until: fundedUntil, sequence: sequence + 1 };
}

/** What its owner does not know; a refused hold that has given money back ends earlier than was said. */
function isNews(message: Funding, before: Funding | undefined): boolean {
  if (message.type !== before?.type) return true;
  return (
    message.type === 'FundingRefused' && before.type === 'FundingRefused' && message.until < before.until - SOONER_MS
  );
}

function groupsOf(holds: readonly DueHold[]): (readonly DueHold[])[] {
  const groups: (readonly DueHold[])[] = [];
  for (let from = 0; from < holds.length; from += GROUP) groups.push(holds.slice(from, from + GROUP));
  return groups;
}
