/**
 * What money does to a Job: the hold that it takes when it is asked to run, its cap, and what becomes of an index that is not paid for. Work that
 * money refuses waits until it is woken (`../attempts/money-wait.ts`). Once a cap is reached, the Job's own or that of what has made it, the
 * whole Job is suspended until the cap is raised; a first hold that finds no room below it waits for what others give back. Source: spec, "States and transitions"; decisions, "Kinds not detailed".
 */
import type { ApiObject } from '../../api/object.js';
import { costCounter, parseCounter } from '../../money/counters.js';
import type { CostLimit } from '../../money/limits.js';
import type { HoldRefusal } from '../../money/operation.js';
import type { Payer } from '../../money/payer.js';
import { USD } from '../../money/usd.js';
import { MAX_COST_REACHED, placeFirstHold, releaseFirstHold } from '../attempts/holds.js';
import { awaitMoney, isStopped, type MoneyWait, sayWait, UNWOKEN_MS, waitAfter } from '../attempts/money-wait.js';
import { admitPayer } from '../attempts/payer.js';
import type { LaterEffect } from '../effect.js';
import { emit } from '../events/emit.js';
import type { ObjectMessage } from '../object-message.js';
import type { JobDraft } from './draft.js';
import type { JobSpec } from './schema.js';
import type { Slot } from './slots.js';
import { isFinished } from './status.js';

/** Before what was refused by an unknown counter is tried again (ms): only an earlier version did not say it. */
const UNKNOWN_WAIT_MS = 60_000;

/** `payer`: of the Sweep or Pipeline that has made it. */
export function beginPaying(draft: JobDraft, payer: Payer | undefined): void {
  const { self, object } = draft.owner;
  draft.keep({ payer: admitPayer(self, object.metadata, payer) });
  setCap(draft, undefined);
  if (draft.job.spec.state === 'Running') takeFirstHold(draft);
}

/** A client's write: a start takes a hold, which may refuse it; a stop gives it up. */
export function changePaying(draft: JobDraft, before: ApiObject<JobSpec>): void {
  setCap(draft, before.spec.maxCostUSD);
  const { state, maxCostUSD } = draft.job.spec;
  // Its own cap is raised; or it is that of its Sweep or Pipeline, which then asks its Jobs to run.
  const again = maxCostUSD !== before.spec.maxCostUSD || (state === 'Running' && before.spec.state !== 'Running');
  if (again) {
    if (draft.private.capped !== undefined) draft.keep({ capped: undefined });
    // Whether there is enough for them is seen when they are tried.
    const waiting = [...draft.waitingSlots()].filter(({ detail }) => detail.wait !== undefined);
    for (const slot of waiting) draft.put({ ...slot, detail: { ...slot.detail, retryAt: draft.now } });
  }
  if (isFinished(draft.job.status.phase) || state === before.spec.state) return;
  if (state === 'Running') takeFirstHold(draft, 'UntilReleased');
  else giveUpFirstHold(draft);
}

function takeFirstHold(draft: JobDraft, firstHold: true | 'UntilReleased' = true): void {
  const effects = placeFirstHold(draft.owner);
  if (effects.length === 0) return;
  draft.effects.push(...effects);
  draft.keep({ firstHold });
}

/** The first Attempt has taken its place, or there will be none. */
export function giveUpFirstHold(draft: JobDraft): void {
  if (draft.private.firstHold === undefined) return;
  draft.keep({ firstHold: undefined });
  draft.effects.push(...releaseFirstHold(draft.owner));
}

function setCap(draft: JobDraft, before: string | undefined): void {
  const { maxCostUSD } = draft.job.spec;
  if (maxCostUSD === before) return;
  const { uid } = draft.job.metadata;
  draft.effects.push({ type: 'Money', operation: { op: 'SetCap', uid, limitUSD: maxCostUSD } });
}

/** The Attempt of this index was refused, or (`stopped`) ended when what it held was used up. `message` is of that moment. */
export function waitForMoney(
  draft: JobDraft,
  slot: Slot,
  why: { readonly reason: string; readonly message: string; readonly stopped: boolean },
  shortfall: HoldRefusal | undefined,
): void {
  const { lost, replaces } = slot.detail;
  const { reason, message, stopped } = why;
  const wait = shortfall && waitAfter(shortfall, slot.detail.wait, { stopped, now: draft.now });
  draft.put({
    ...slot,
    phase: 'Waiting',
    detail: {
      ...(lost !== undefined && { lost }),
      ...(replaces === true && { replaces }),
      ...(wait !== undefined && { wait }),
      ...{ reason, retryAt: draft.now + (wait === undefined ? UNKNOWN_WAIT_MS : UNWOKEN_MS) },
    },
  });
  draft.awaiting = true;
  // What others hold below the cap may be given back: then the cap is not reached yet.
  if (stopped && reason === MAX_COST_REACHED) {
    const { uid = draft.job.metadata.uid, limitUSD = '0' } = shortfall ?? {};
    if (reachCap(draft, { uid, limitUSD }, message)) return;
  }
  if (reason !== MAX_COST_REACHED && !isLost(draft)) draft.effects.push(emit('job.funding_lost', message));
  draft.keep({ unfunded: { reason, message: wait === undefined ? message : sayWaiting(slot.index, wait) } });
}

/** For the status: true until the index has its money. */
function sayWaiting(index: number, wait: MoneyWait): string {
  return `index ${index} ${isStopped(wait) ? 'was stopped, and ' : ''}${sayWait(wait)}`;
}

/** It was said that a Budget or the wallet has nothing for it. */
function isLost({ private: { unfunded } }: JobDraft): boolean {
  return unfunded !== undefined && unfunded.reason !== MAX_COST_REACHED;
}

/** False: the Job's own cap is higher by now. What has raised that of its owner wakes it. */
function reachCap(draft: JobDraft, cap: CostLimit, message: string): boolean {
  const { metadata, spec } = draft.job;
  const { maxCostUSD } = spec;
  if (cap.uid === metadata.uid && (maxCostUSD === undefined || new USD(maxCostUSD).gt(cap.limitUSD))) return false;
  if (draft.private.capped !== undefined) return true;
  draft.effects.push(emit('job.max_cost_reached', message));
  draft.keep({ capped: cap, unfunded: undefined });
  return true;
}

/** There is money for so many of the indexes that wait on the counter: the longest waiting of them are tried again. */
export function takeMoney(draft: JobDraft, freed: Extract<ObjectMessage, { type: 'MoneyFreed' }>): boolean {
  const due = waitingOn(draft, freed.counter)
    .filter(({ detail: { wait } }) => wait !== undefined && isStopped(wait) === freed.stopped)
    .slice(0, freed.count);
  for (const slot of due) draft.put({ ...slot, detail: { ...slot.detail, retryAt: draft.now } });
  const { capped } = draft.private;
  if (typeof capped === 'object' && costCounter(capped.uid) === freed.counter) draft.keep({ capped: undefined });
  return due.length > 0;
}

/** Nothing is held below the cap that could be given back. A Budget or the wallet is waited for. */
export function takeExhausted(draft: JobDraft, exhausted: Extract<ObjectMessage, { type: 'MoneyExhausted' }>): boolean {
  const { counter, limitUSD } = exhausted;
  const name = parseCounter(counter);
  const waits = waitingOn(draft, counter).length > 0;
  if (name.of !== 'Cost' || !waits || draft.active > 0 || draft.private.capped !== undefined) return false;
  return reachCap(draft, { uid: name.uid, limitUSD }, 'maxCostUSD leaves no room for more');
}

/** In the order in which they began to wait. */
function waitingOn(draft: JobDraft, counter: string): Slot[] {
  return [...draft.waitingSlots()]
    .filter(({ detail }) => detail.wait?.counter === counter)
    .toSorted((a, b) => (a.detail.wait?.since ?? 0) - (b.detail.wait?.since ?? 0) || a.index - b.index);
}

/** What waits, for the one who wakes it. */
export function moneyWaits(draft: JobDraft): readonly LaterEffect[] {
  if (!draft.awaiting || isFinished(draft.job.status.phase)) return [];
  return awaitMoney([...draft.waitingSlots()].flatMap(({ detail: { wait } }) => wait ?? []));
}

/** The Attempt of this index exists, so it holds what it needs. True when that is news. */
export function notePaid(draft: JobDraft, slot: Slot): boolean {
  const { wait, ...detail } = slot.detail;
  if (wait === undefined) return false;
  draft.put({ ...slot, detail });
  noteFunded(draft);
  return true;
}

/** An index has its money. Another that still waits is named from now on. */
export function noteFunded(draft: JobDraft): void {
  if (draft.private.unfunded === undefined) return;
  for (const { index, detail } of draft.waitingSlots()) {
    const { reason = draft.private.unfunded.reason, wait } = detail;
    if (wait === undefined) continue;
    draft.keep({ unfunded: { reason, message: sayWaiting(index, wait) } });
    return;
  }
  if (isLost(draft)) draft.effects.push(emit('job.funding_restored', 'there is money for it again'));
  draft.keep({ unfunded: undefined });
}
