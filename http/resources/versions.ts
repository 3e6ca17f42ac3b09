/**
 * What `resourceVersion`, `resourceVersionMatch`, `limit` and `continue` mean together for a list, and
 * `sendInitialEvents` for a watch. Pure; the table is Kubernetes' own ("API concepts, Resource versions").
 */
import { badParameter } from '../bad-parameter.js';
import { invalid, unsupportedValue } from './options.js';

/** decisions.md: at most 1000 per page. */
export const MAX_PAGE = 1000;

export type ListVersion =
  /** The newest state. */
  | { readonly at: 'newest' }
  /** Any state at least as new as this. */
  | { readonly at: 'notOlderThan'; readonly version: number }
  /** Exactly this state, or 410. */
  | { readonly at: 'exact'; readonly version: number };

export interface WatchStart {
  /** Show the current state first. */
  readonly initial: boolean;
  /** Changes above this version; undefined: above the initial state (or above now, without one). */
  readonly from: number | undefined;
  /** Mark the end of the initial state with a bookmark. */
  readonly initialEndBookmark: boolean;
  /** The initial state must be at least this new. */
  readonly atLeast: number;
}

export function readVersionNumber(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(Number(text))) {
    const rule = 'must be an unsigned integer';
    const message = `invalid resource version: resourceVersion: Invalid value: "${text.slice(0, 64)}": ${rule}`;
    throw badParameter('resourceVersion', text, rule, 'Send the resourceVersion of an answer as it came.', message);
  }
  return Number(text);
}

function forbidden(field: string, message: string): Error {
  return invalid(`${field}: Forbidden: ${message}`, [
    { field, reason: 'FieldValueForbidden', message: `Forbidden: ${message}` },
  ]);
}

const MATCHES = ['Exact', 'NotOlderThan'];

export function readListVersion(query: URLSearchParams, paged: boolean): ListVersion {
  const match = query.get('resourceVersionMatch') ?? '';
  const version = readVersionNumber(query.get('resourceVersion'));
  if (query.has('sendInitialEvents')) throw forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list');
  if (match !== '') {
    if (version === undefined) {
      throw forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
    }
    if ((query.get('continue') ?? '') !== '') {
      throw forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
    }
    if (!MATCHES.includes(match)) throw unsupportedValue('resourceVersionMatch', match, MATCHES);
    if (match === 'Exact' && version === 0) {
      throw forbidden('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
    }
  }
  if (version === undefined || version === 0) return { at: 'newest' };
  // Without a match a page is exact and a whole list is not, for the sake of old clients.
  const exact = match === 'Exact' || (match === '' && paged);
  return exact ? { at: 'exact', version } : { at: 'notOlderThan', version };
}

/** Undefined: no limit. */
export function readLimit(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^\d{1,18}$/.test(text)) {
    throw badParameter('limit', text, 'must be a whole number of at least 0', 'Ask for limit=100, for example.');
  }
  const limit = Number(text);
  return limit === 0 ? undefined : Math.min(limit, MAX_PAGE);
}

/** As Kubernetes reads it: anything but `0` and `false` is true, so `?watch`, `watch=True` and `watch=yes` are. */
export function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return text !== '0' && text.toLowerCase() !== 'false';
}

/** Of our own routes, which refuse what is neither. A parameter without a value is on. */
export function readFlag(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const word = text.toLowerCase();
  if (['', 'true', '1'].includes(word)) return true;
  if (['false', '0'].includes(word)) return false;
  throw badParameter(name, text, 'must be true, false, 1 or 0', `Ask for ${name}=true, or leave it out.`);
}

/** A duration as Go writes it. */
const GO_DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;

/** `timeout`, which client-go sends with its own time limit. Each request has a bound anyway; a malformed one is refused. */
export function checkTimeout(query: URLSearchParams): void {
  const text = query.get('timeout');
  if (text === null || text === '' || (text.length <= 64 && GO_DURATION.test(text))) return;
  const message = `invalid timeout specified in the request URL - "${text.slice(0, 64)}" is no duration`;
  throw badParameter('timeout', text, 'must be a duration', 'Write a duration such as 30s.', message);
}

export function readWatchStart(query: URLSearchParams): WatchStart {
  const send = readBoolean(query, 'sendInitialEvents');
  const match = query.get('resourceVersionMatch') ?? '';
  const version = readVersionNumber(query.get('resourceVersion'));
  if (send === undefined) {
    if (match !== '') {
      throw forbidden(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      );
    }
    const fresh = version === undefined || version === 0;
    return { initial: fresh, from: fresh ? undefined : version, initialEndBookmark: false, atLeast: 0 };
  }
  if (match !== 'NotOlderThan') {
    throw forbidden('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
  if (send) return { initial: true, from: undefined, initialEndBookmark: true, atLeast: version ?? 0 };
  return { initial: false, from: version === 0 ? undefined : version, initialEndBookmark: false, atLeast: 0 };
}

/** Seconds, or undefined when it is not given. */
export function readTimeoutSeconds(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^\d{1,9}$/.test(text)) {
    throw badParameter('timeoutSeconds', text, 'must be a whole number of seconds', 'Ask for timeoutSeconds=300.');
  }
  return Number(text) === 0 ? undefined : Number(text);
}
