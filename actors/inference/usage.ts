/**
 * Shows in the status of each InferenceEndpoint what requests through it came to in the last 24 hours, and how many run now. Once a second those
 * whose figures are not the ones that they were told last get the message `UsageChanged`: since something was posted, a request has begun or ended, or
 * the oldest minute has left. A display copy: what is posted are rows, from which it is filled at the start, and nothing decides by it. A
 * message that does not arrive is sent again with the next round, with the figures of then.
 *
 * I10: at most MOST_ENDPOINTS endpoints and MOST_MINUTES minutes with requests are in memory. Full: the endpoint that was posted to longest ago is
 * forgotten; its status stays as it is, and when it is used again counts what is used from then on until the next start. At most MOST_SENDING
 * messages are under way, one of each endpoint; the others are sent in later rounds.
 */
import type { Address } from '../../src/api/address.js';
import type { ModelUsage } from '../../src/kinds/object-message.js';
import type { ModelUse } from '../../src/money/operation.js';
import { USD } from '../../src/money/usd.js';
import { equalJson } from '../../src/api/equal.js';
import type { Clock } from '../../storage/store.js';
import type { MessageRouter } from '../message-router.js';
import { tick } from '../money/ticker.js';
import { MINUTE_MS, openUsageRing, type UsageRing } from './usage-ring.js';

const EVERY_MS = 1_000;
const DAY_MS = 24 * 3_600_000;
const MOST_ENDPOINTS = 20_000;
const MOST_MINUTES = 500_000;
const MOST_SENDING = 1_000;

/** What was posted for one endpoint in one minute. */
export interface UseRow extends ModelUse {
  readonly org: string;
  /** Its beginning (ms). */
  readonly minute: number;
  readonly costUSD: string;
}

export interface UsageDeps {
  readonly rows: {
    /** Of minutes that begin at `since` (ms) or later; at most `limit`, the newest. */
    readUse(since: number, limit: number): Promise<readonly UseRow[]>;
  };
  readonly send: MessageRouter['send'];
  readonly clock: Clock;
  /** Requests that run now. */
  running(uid: string): number;
  onProblem(message: string): void;
  readonly bounds?: { readonly endpoints?: number; readonly minutes?: number } | undefined;
  /** Between rounds (ms). Default EVERY_MS. */
  readonly every?: number | undefined;
}

export interface Usage {
  /** It is stored that so much was used. Quick; never throws. */
  posted(org: string, uid: string, use: Omit<ModelUse, 'uid'>, costUSD: USD | string): void;
  /** There is an InferenceEndpoint of this uid: from now on it is told. To be said of each at the start, and with each request. */
  know(uid: string, address: Address): void;
  /** Goes on until `stopping` is aborted; resolves then. */
  run(stopping: AbortSignal): Promise<void>;
}

interface Known {
  readonly uid: string;
  ring: UsageRing;
  /** Absent: it is not known where it is, or it is gone. */
  address: Address | undefined;
  /** What it was told last; absent: nothing by this process. */
  told: ModelUsage | undefined;
  sending: boolean;
}

/** Rejects with a `RefusalError` Unavailable. */
export async function openUsage(deps: UsageDeps): Promise<Usage> {
  const { rows, send, clock, running, onProblem, bounds, every = EVERY_MS } = deps;
  const { endpoints: mostEndpoints = MOST_ENDPOINTS, minutes: mostMinutes = MOST_MINUTES } = bounds ?? {};
  /** The one that was posted to longest ago first. */
  const known = new Map<string, Known>();
  let minutes = 0;
  let sending = 0;

  function entryOf(uid: string): Known {
    const found = known.get(uid);
    if (found !== undefined) return found;
    const entry: Known = { uid, ring: openUsageRing(), address: undefined, told: undefined, sending: false };
    known.set(uid, entry);
    return entry;
  }

  function forget(entry: Known): void {
    minutes -= entry.ring.size();
    known.delete(entry.uid);
  }

  function keepBounds(): void {
    for (const entry of known.values()) {
      if (known.size <= mostEndpoints && minutes <= mostMinutes) return;
      forget(entry);
    }
  }

  function add(uid: string, minute: number, use: Omit<ModelUse, 'uid'>, costUSD: USD): void {
    const entry = entryOf(uid);
    known.delete(uid);
    known.set(uid, entry);
    const { requests, errors, inputTokens, outputTokens } = use;
    counted(entry, (ring) => ring.add(minute, { requests, errors, inputTokens, outputTokens, costUSD }));
    keepBounds();
  }

  function counted({ ring }: Known, change: (ring: UsageRing) => void): void {
    const before = ring.size();
    change(ring);
    minutes += ring.size() - before;
  }

  function tell(entry: Known, address: Address, usage: ModelUsage): void {
    sending += 1;
    entry.sending = true;
    void send(address, entry.uid, { type: 'UsageChanged', usage }).then((delivery) => {
      sending -= 1;
      entry.sending = false;
      if (delivery === 'Done') entry.told = usage;
      else if (delivery === 'Absent') forgetGone(entry, address);
    });
  }

  function forgetGone(entry: Known, address: Address): void {
    if (known.get(entry.uid) === entry && entry.address === address) forget(entry);
  }

  function round(): Promise<void> {
    const minute = minuteOf(clock());
    for (const entry of known.values()) {
      counted(entry, (ring) => ring.advance(minute));
      const { uid, ring, address, told } = entry;
      if (address === undefined) {
        // Nobody is told of it, and nothing of it counts.
        if (ring.size() === 0) forget(entry);
        continue;
      }
      if (entry.sending || sending >= MOST_SENDING) continue;
      const usage = { ...ring.total(), openHolds: running(uid) };
      if (told === undefined || !equalJson(usage, told)) tell(entry, address, usage);
    }
    return Promise.resolve();
  }

  const now = clock();
  for (const { uid, minute, costUSD, ...use } of await rows.readUse(now - DAY_MS, mostMinutes))
    add(uid, minuteOf(minute), use, new USD(costUSD));

  return {
    posted(_org, uid, use, costUSD) {
      add(uid, minuteOf(clock()), use, typeof costUSD === 'string' ? new USD(costUSD) : costUSD);
    },
    know(uid, address) {
      entryOf(uid).address = address;
      keepBounds();
    },
    run: (stopping) => tick({ every, round, onProblem }, stopping),
  };
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}
