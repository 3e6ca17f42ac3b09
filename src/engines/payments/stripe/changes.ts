/**
 * Looks at what has happened at Stripe, by its list of events. The list begins with the newest one and can be late with those of the last
 * moments, so it is read in windows: all from `since` on, page by page, and the next window begins OVERLAP_S before this one was begun, by
 * Stripe's clock. An event is thus seen at least once, most of them several times, and within a window the newer ones come first.
 * I10: PAGE events at a time; a look at one page asks for at most PAGE payments.
 */
import type { Stripe } from 'stripe';
import type { ChangesOutcome } from '../processor.js';
import type { Ask } from './client.js';
import { EVENT_TYPES, subjectOf } from './event.js';
import type { Owners } from './owners.js';

const PAGE = 50;
export const OVERLAP_S = 300;
const DAY_S = 86_400;

/** Times are seconds. */
interface Window {
  readonly since: number;
  /** When it was begun, and the last event that was read; undefined: nothing was read yet. */
  readonly read?: { readonly begun: number; readonly last: string } | undefined;
}

/** `now` in ms. */
export async function readChanges(
  ask: Ask,
  owners: Owners,
  cursor: string | undefined,
  deployment: string,
  now: number,
): Promise<ChangesOutcome> {
  const window = parseCursor(cursor) ?? { since: Math.floor(now / 1_000) - DAY_S };
  const { since, read } = window;
  const params: Stripe.EventListParams = {
    types: EVENT_TYPES,
    created: { gte: since },
    limit: PAGE,
    ...(read === undefined ? {} : { starting_after: read.last }),
  };
  const listed = await ask((stripe) => stripe.events.list(params));
  if (listed.outcome === 'Unreachable') return listed;
  if (listed.outcome === 'Rejected') {
    // Stripe has forgotten the event that the page began behind: the window is read again.
    if (read !== undefined) return { outcome: 'Changes', changed: [], cursor: cursorOf({ since }), more: true };
    return { outcome: 'Unreachable', message: `Stripe refuses to list events (${listed.message})` };
  }
  const { data, has_more: more, lastResponse } = listed.value;
  if (!Array.isArray(data)) return { outcome: 'Unreachable', message: "Stripe's answer is no list" };
  const found = await owners.find(ask, data.map((event) => subjectOf(event, deployment)).toReversed());
  if (found.outcome === 'Unreachable') return found;
  const begun = read?.begun ?? secondsOf(lastResponse.headers['date']) ?? data[0]?.created ?? since;
  const last = data.at(-1)?.id;
  const next: Window =
    more && last !== undefined ? { since, read: { begun, last } } : { since: Math.max(since, begun - OVERLAP_S) };
  return { outcome: 'Changes', changed: found.purchases, cursor: cursorOf(next), more: next.read !== undefined };
}

function cursorOf({ since, read }: Window): string {
  return read === undefined ? `stripe:${since}` : `stripe:${since}:${read.begun}:${read.last}`;
}

/** Undefined for none, and for what another processor made. */
function parseCursor(cursor: string | undefined): Window | undefined {
  const parts = /^stripe:(\d{1,12})(?::(\d{1,12}):(\w{1,255}))?$/.exec(cursor ?? '');
  if (parts === null) return undefined;
  const [, since, begun, last] = parts;
  const read = begun === undefined || last === undefined ? undefined : { begun: Number(begun), last };
  return { since: Number(since), read };
}

function secondsOf(date: string | undefined): number | undefined {
  const ms = Date.parse(date ?? '');
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1_000);
}
