/**
 * Tells the ledger what is billed of work that goes on, and from when: in groups, through the ledger alone, so that no commit of an Attempt
 * carries money for it. From then on the hold has a time of renewal (`renewals.ts`). The ledger never hears from here of work that is over within AFTER_MS:
 * its last commit bills all of it (`src/kinds/attempt/billing.ts`), in the same amounts.
 *
 * Nothing is lost in a crash: a process that begins notes all work that has a place, and a Bill that the ledger has already changes nothing.
 * Bills that the ledger does not take are sent again. I7: until they are there the first amount of the hold stands, which lasts a unit of time.
 *
 * I10: one entry for each piece of work until its program runs, GROUP Attempts in one member of a commit, one member of an org at a time.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import { beginningsOf, type Beginnings } from '../../src/kinds/attempt/billing.js';
import type { OperationResult } from '../../src/money/operation.js';
import type { Committer } from '../../storage/commit/request.js';
import type { Attempts } from '../work/attempts.js';
import { tick } from './ticker.js';

const EVERY_MS = 250;
/** Between two looks at work whose program does not run yet. */
const AGAIN_MS = 1_000;
/** Most short work is over by then. */
export const AFTER_MS = 3_000;
/** A member of a commit holds the clock's lock for as long as its operations take. */
const GROUP = 50;

export interface BegunWorkDeps {
  readonly attempts: Pick<Attempts, 'find'>;
  read(address: Address): Promise<Buffer | undefined>;
  readonly ledger: Committer['ledger'];
  /** Takes until when the work of this Attempt is paid (ms); undefined: nothing limits it. */
  fund(uid: string, until: number | undefined): void;
  /** Monotonic ms. */
  monotonic(): number;
  onProblem(message: string): void;
}

export interface BegunWork {
  /** The work of this Attempt begins, or has begun before this process did. */
  note(uid: string, address: Address): void;
  /** Goes on until `stopping` is aborted; resolves then. */
  run(stopping: AbortSignal): Promise<void>;
}

interface Entry {
  readonly uid: string;
  readonly address: Address;
  /** When it is looked at. */
  at: number;
  /** How many of its operations the ledger has. */
  told: number;
}

interface Telling extends Beginnings {
  readonly entry: Entry;
}

export function openBegunWork(deps: BegunWorkDeps): BegunWork {
  const { attempts, read, ledger, fund, monotonic, onProblem } = deps;
  const entries = new Map<string, Entry>();

  /** What is new of it; forgets it when nothing more will come. */
  async function lookAt(entry: Entry, now: number): Promise<Telling | undefined> {
    const { uid, address } = entry;
    // Its last commit bills it.
    const body = attempts.find(uid).found === 'Ended' ? undefined : await read(address);
    const attempt = body && decodeObject(body);
    const beginnings = attempt?.metadata.uid === uid ? beginningsOf(attempt) : undefined;
    if (beginnings !== undefined && beginnings.operations.length > entry.told) return { entry, ...beginnings };
    // Behind the others, so that they stand in the order in which they are looked at.
    entries.delete(uid);
    if (beginnings === undefined || beginnings.complete) return undefined;
    entry.at = now + AGAIN_MS;
    entries.set(uid, entry);
    return undefined;
  }

  function note({ entry, operations, complete }: Telling, result: OperationResult | undefined): void {
    entry.told = operations.length;
    if (complete) entries.delete(entry.uid);
    if (result?.outcome === 'Applied' && result.fundedUntil !== undefined)
      fund(entry.uid, result.limited === true ? result.fundedUntil : undefined);
  }

  /** Whether the ledger took them. */
  async function tell(org: string, group: readonly Telling[]): Promise<boolean> {
    const answer = await ledger(
      org,
      group.flatMap(({ operations }) => operations),
    );
    if (answer.outcome !== 'Committed') return false;
    let end = 0;
    for (const telling of group) {
      end += telling.operations.length;
      note(telling, answer.results[end - 1]);
    }
    return true;
  }

  async function round(stopping: AbortSignal): Promise<void> {
    const now = monotonic();
    const orgs = new Map<string, Telling[]>();
    for (const entry of [...entries.values()]) {
      if (entry.at > now || stopping.aborted) break;
      const telling = await lookAt(entry, now);
      if (telling === undefined) continue;
      const { org } = entry.address;
      orgs.set(org, [...(orgs.get(org) ?? []), telling]);
    }
    const taken = await Promise.all([...orgs].map(([org, tellings]) => tellAll(org, tellings, stopping)));
    if (taken.includes(false)) throw new Error('the ledger did not answer');
  }

  async function tellAll(org: string, tellings: readonly Telling[], stopping: AbortSignal): Promise<boolean> {
    for (let from = 0; from < tellings.length && !stopping.aborted; from += GROUP)
      if (!(await tell(org, tellings.slice(from, from + GROUP)))) return false;
    return true;
  }

  return {
    note(uid, address) {
      if (!entries.has(uid)) entries.set(uid, { uid, address, at: monotonic() + AFTER_MS, told: 0 });
    },
    run: (stopping) => tick({ every: EVERY_MS, round: () => round(stopping), onProblem }, stopping),
  };
}
