/**
 * Makes the attempts at deliveries: which due delivery goes next (`turns.ts`), what an attempt came to, and what follows.
 *
 * The protocol
 * - A row in Postgres that is Pending and due is the truth (I6). New ones come straight from the dispatcher; what does not
 *   fit into the turns, what is due again, and what a crash left behind is read from its row: when its job in the queue
 *   comes, when the endpoint's turns run low, or by the sweep, whichever is first.
 * - An id is known from its offer until its settlement is written, so that nothing sends it twice meanwhile. A process that
 *   dies in between has sent what the next one sends again: at least once, under the same id.
 * - Settlements name the number of attempts before them: a row that has moved on (abandoned, sent by a process that took
 *   over) is left alone.
 * - An endpoint that is paused or gone is sent nothing: its deliveries are settled as Abandoned when their turn comes, beside
 *   the effect that gives up those in storage.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { attempt, type AttemptResult } from '../../src/engines/delivery/attempt.js';
import { nextAttempt } from '../../src/engines/delivery/schedule.js';
import { sign } from '../../src/engines/delivery/sign.js';
import type { Dialer } from '../../src/engines/dialer/dialer.js';
import type { Deliveries, PendingDelivery, Settlement } from '../../storage/webhooks/deliveries.js';
import type { Endpoints } from './endpoints.js';
import type { Keys } from './keys.js';
import type { DeliveryResults } from './delivery-results.js';
import { openDeliveryTurns } from './turns.js';

const SWEEP_MS = 3_000;
/** Overdue by less, a delivery is on its way through the dispatcher or the queue (ms). */
const GRACE_MS = 1_000;
/** Endpoints that are looked at in one read; the others come with the next. */
const ENDPOINTS_AT_ONCE = 20;
/** Rows, and characters of bodies, that one read takes per endpoint: seconds of work for 8 at once. */
const ROWS_PER_ENDPOINT = 200;
const CHARACTERS_PER_ENDPOINT = 2 ** 20;
/** Endpoints that one sweep looks at. */
const ENDPOINTS_PER_SWEEP = 10_000;
/** An answer after this (ms) counts as none for the receiver's places: it has held one for long. */
const SOON_MS = 5_000;
/** An endpoint that has more in storage is read again when so few wait. */
const LOW = 50;
/** Attempts whose end is not written yet; more wait until storage answers. */
const MOST_UNWRITTEN = 1_000;
const AGAIN_MS = 500;

export interface SenderDeps {
  readonly deliveries: Pick<Deliveries, 'due' | 'overdue'>;
  readonly endpoints: Pick<Endpoints, 'get'>;
  readonly keys: Pick<Keys, 'of'>;
  readonly results: Pick<DeliveryResults, 'settle' | 'depth'>;
  readonly dialer: Dialer;
  /** Milliseconds on Postgres's clock. */
  readonly now: () => number;
  readonly chance: () => number;
  /** An attempt has ended and is written. */
  onAttempt(delivery: PendingDelivery, settlement: Settlement): void;
  onProblem(message: string): void;
  readonly stopping: AbortSignal;
  readonly answerMs?: number | undefined;
}

export interface Sender {
  offer(deliveries: readonly PendingDelivery[]): void;
  /** Something of this endpoint is due: its rows are read. */
  look(endpoint: string): void;
  state(): { readonly waiting: number; readonly inHand: number };
  /** Begins nothing more; resolves when what is in hand has ended and is written, or after `ms`. */
  drain(ms: number): Promise<void>;
  /** Resolves after the stop, when nothing is in hand. */
  ended(): Promise<void>;
}

export function openSender(deps: SenderDeps): Sender {
  const { endpoints, stopping } = deps;
  const turns = openDeliveryTurns();
  /** Endpoints that have more in storage than fitted. */
  const more = new Set<string>();
  /** Endpoints whose rows are to be read now. */
  const wanted = new Set<string>();
  const inHand = new Set<Promise<void>>();
  let reading: Promise<void> | undefined;
  let draining = false;

  function offer(deliveries: readonly PendingDelivery[]): void {
    for (const delivery of deliveries) if (turns.offer(delivery) === 'Full') more.add(delivery.endpoint);
    pump();
  }

  function pump(): void {
    while (!stopping.aborted && !draining && deps.results.depth() < MOST_UNWRITTEN) {
      const next = turns.take();
      if (next === undefined) break;
      const sent = send(next).finally(() => inHand.delete(sent));
      inHand.add(sent);
    }
  }

  async function send(delivery: PendingDelivery): Promise<void> {
    let settlement: Settlement | undefined;
    try {
      settlement = await tryOnce(delivery);
    } catch (error) {
      // Its keys could not be read: the row stays as it is, for a later sweep.
      if (!stopping.aborted) deps.onProblem(`a delivery: ${error instanceof Error ? error.message : 'failed'}`);
      await sleep(AGAIN_MS, undefined, { signal: stopping }).catch(() => {});
    }
    // One that was not sent shows nothing of its receiver.
    turns.free(delivery, settlement?.attempt === undefined || isSoon(settlement.attempt));
    pump();
    if (settlement) {
      await deps.results.settle(settlement);
      if (!stopping.aborted) deps.onAttempt(delivery, settlement);
    }
    turns.forget(delivery);
    pump();
    if (more.has(delivery.endpoint) && turns.waiting(delivery.endpoint) < LOW) look(delivery.endpoint);
  }

  async function tryOnce(delivery: PendingDelivery): Promise<Settlement | undefined> {
    const { id, attempts: before } = delivery;
    const endpoint = endpoints.get(delivery.endpoint);
    if (!endpoint?.open) return { id, before, phase: 'Abandoned' };
    const keys = await deps.keys.of(endpoint, deps.now());
    if (keys.length === 0) return { id, before, phase: 'Abandoned' };
    const body = Buffer.from(delivery.body);
    const begun = performance.now();
    const headers = sign(id, deps.now(), body, keys);
    const { dialer, answerMs } = deps;
    const result = await attempt({ url: endpoint.url, headers, body }, { dialer, signal: stopping, answerMs });
    const durationMs = Math.round(performance.now() - begun);
    return settlementOf(delivery, result, { now: deps.now(), durationMs, chance: deps.chance() });
  }

  // ── what is in storage ──

  function look(endpoint: string): void {
    if (stopping.aborted) return;
    wanted.add(endpoint);
    reading ??= read().finally(() => {
      reading = undefined;
    });
  }

  async function read(): Promise<void> {
    // One turn, so that what is wanted together is read together.
    await Promise.resolve();
    while (wanted.size > 0 && !stopping.aborted) {
      const chosen = [...wanted].slice(0, ENDPOINTS_AT_ONCE);
      for (const endpoint of chosen) wanted.delete(endpoint);
      try {
        const limit = { rows: ROWS_PER_ENDPOINT, characters: CHARACTERS_PER_ENDPOINT };
        const { deliveries, cut } = await deps.deliveries.due(chosen, turns.known(chosen), limit);
        for (const endpoint of chosen) {
          if (cut.has(endpoint)) more.add(endpoint);
          else more.delete(endpoint);
        }
        offer(deliveries);
      } catch (error) {
        // The sweep looks again.
        if (!stopping.aborted) deps.onProblem(`deliveries: ${error instanceof Error ? error.message : 'not read'}`);
        return;
      }
    }
  }

  /** One that is gone is settled as Abandoned. */
  function hasRoom(endpoint: string): boolean {
    const org = endpoints.get(endpoint)?.address.org;
    return org === undefined || turns.hasRoom(org);
  }

  async function sweep(): Promise<void> {
    /** Where it goes on: one that has too many to look at must not look at the same ones again and again. */
    let after: string | undefined;
    while (!stopping.aborted) {
      try {
        const overdue = await deps.deliveries.overdue(GRACE_MS, ENDPOINTS_PER_SWEEP, after);
        after = overdue.length < ENDPOINTS_PER_SWEEP ? undefined : overdue.at(-1);
        for (const endpoint of overdue) if (turns.waiting(endpoint) < LOW && hasRoom(endpoint)) look(endpoint);
        await reading;
      } catch (error) {
        if (!stopping.aborted) deps.onProblem(`deliveries: ${error instanceof Error ? error.message : 'not read'}`);
      }
      pump();
      await sleep(SWEEP_MS, undefined, { signal: stopping }).catch(() => {});
    }
  }

  const sweeping = sweep();
  return {
    offer,
    look,
    state: () => ({ waiting: turns.size(), inHand: turns.inHand() }),
    async drain(ms) {
      draining = true;
      const waited = sleep(ms, undefined, { signal: stopping }).catch(() => {});
      await Promise.race([Promise.allSettled(inHand), waited]);
    },
    async ended() {
      await sweeping;
      await reading;
      while (inHand.size > 0) await Promise.allSettled(inHand);
    },
  };
}

function isSoon({ status, durationMs }: NonNullable<Settlement['attempt']>): boolean {
  return status > 0 && durationMs < SOON_MS;
}

interface Ended {
  readonly now: number;
  readonly durationMs: number;
  readonly chance: number;
}

/** Undefined: nothing is known of it, so nothing is written. */
export function settlementOf(
  { id, attempts: before, time }: PendingDelivery,
  result: AttemptResult,
  { now, durationMs, chance }: Ended,
): Settlement | undefined {
  switch (result.outcome) {
    case 'Stopped':
      return undefined;
    case 'Taken':
      return { id, before, phase: 'Succeeded', attempt: { at: now, status: result.status, durationMs } };
    case 'Forbidden': {
      const { message: error } = result;
      return { id, before, phase: 'Failed', attempt: { at: now, status: 0, durationMs, error } };
    }
    case 'Refused': {
      const { message: error, status } = result;
      const due = nextAttempt({ attempts: before + 1, began: time, now, chance });
      const phase = due === undefined ? 'Failed' : 'Pending';
      return { id, before, phase, attempt: { at: now, status, durationMs, error }, due };
    }
  }
}
