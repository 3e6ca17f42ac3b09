/**
 * Sends one request to the routes of its model, one after the other, until an answer has begun or three were tried. What the upstream has
 * against the request itself ends it at once; everything else is the route's fault, is reported to its health, and the next one is tried.
 * This is the only place that tries again. Never rejects.
 */
import { choose } from './choose.js';
import { readErrorBody } from './error-body.js';
import type { RouteHealth } from './health.js';
import { needsBody, outcomeOf, refusalStatus } from './outcome.js';
import { enter, healthFor, type Report, type Route } from './route.js';
import type { Forwarded, ForwardCall, Way } from './router.js';
import type { UpstreamError } from './dialects/dialect.js';
import type { Upstream, UpstreamAnswer, UpstreamFailure } from './upstream.js';

export const MOST_TRIES = 3;
const LONGEST_RETRY_AFTER_S = 60;

/** Grave: it goes on until the operator does something. */
export type NoteWeight = 'Usual' | 'Grave';

export interface ForwardContext {
  /** ms since the epoch. */
  now(): number;
  /** From 0 to below 1. */
  random(): number;
  /** For the operator's log: why a route was left. */
  note(message: string, weight: NoteWeight): void;
  /** A request has had an answer that speaks for the upstream. */
  answered(upstream: string): void;
}

/** Why a route did not answer; the worst that is known decides what the client is told. */
type Why = 'Unavailable' | 'Overloaded' | 'TimedOut';
type Step = { readonly end: Forwarded } | { readonly why: Why };

/** Routes of the model that may be asked in this way. */
export interface TriedWay {
  readonly way: Way;
  readonly routes: readonly Route[];
}

export async function forward(
  call: ForwardCall,
  tried: readonly TriedWay[],
  context: ForwardContext,
): Promise<Forwarded> {
  const routes = tried.flatMap((one) => one.routes);
  const { tenant } = call;
  const begun = context.now();
  const inOrder = tried.flatMap(({ way, routes: spoken }) =>
    choose(
      spoken.map((route) => ({
        priority: route.priority,
        weight: route.weight,
        health: healthFor(route, tenant, begun),
        route,
        way,
      })),
      begun,
      context.random,
    ),
  );
  const reasons: Why[] = [];
  const entered = new Set<Route>();
  let tries = 0;
  for (const { route, way } of inOrder) {
    if (call.signal.aborted) return aborted();
    if (tries >= MOST_TRIES) break;
    const encoded = way.encode(route.as, route.form);
    const body = encoded instanceof Promise ? await encoded : encoded;
    if (call.signal.aborted) return aborted();
    if (body === undefined) continue;
    const report = enter(route, tenant, context.now());
    // Another request has begun to try it in the meantime, or made it cool.
    if (report === undefined) continue;
    entered.add(route);
    const { stream, headers, signal } = call;
    const { operation } = way;
    const answer = await route.upstream.send({ tenant, operation, stream, headers, signal, body });
    const step =
      answer.outcome === 'Failed'
        ? notAnswered(answer, report, context)
        : await answered({ answer, route, way, report, call, context, retries: tries });
    if ('end' in step) return step.end;
    reasons.push(step.why);
    // One that takes no more requests has not been tried.
    if (answer.outcome !== 'Failed' || answer.reason !== 'Busy') tries += 1;
  }
  if (call.signal.aborted) return aborted();
  const now = context.now();
  const passedOver = routes.filter((route) => !entered.has(route));
  if (tries < MOST_TRIES) reasons.push(...passedOver.map((route) => whyCooling(healthFor(route, tenant, now))));
  const retryAfterSeconds = retryAfter(
    routes.map((route) => healthFor(route, tenant, now)),
    now,
  );
  return { outcome: 'Failed', reason: overall(reasons), retryAfterSeconds };
}

function notAnswered({ reason, message }: UpstreamFailure, report: Report, { now, note }: ForwardContext): Step {
  if (reason === 'Aborted') {
    report({ is: 'Left' }, now());
    return { end: aborted() };
  }
  note(message, 'Usual');
  if (reason === 'Busy') {
    report({ is: 'Left' }, now());
    return { why: 'Overloaded' };
  }
  report({ is: 'Failed', cause: reason === 'Unreachable' ? 'Unreachable' : 'Failing' }, now());
  return { why: reason === 'TimedOut' ? 'TimedOut' : 'Unavailable' };
}

interface Attempt {
  readonly answer: Extract<UpstreamAnswer, { outcome: 'Answered' }>;
  readonly route: Route;
  readonly way: Way;
  readonly report: Report;
  readonly call: ForwardCall;
  readonly context: ForwardContext;
  readonly retries: number;
}

async function answered({ answer, route, way, report, call, context, retries }: Attempt): Promise<Step> {
  const { status } = answer;
  const { upstream } = route;
  if (status >= 200 && status < 300) {
    report({ is: 'Opened' }, context.now());
    context.answered(upstream.name);
    return {
      end: {
        ...answer,
        ...{ dialect: way.dialect, operation: way.operation },
        upstream: upstream.name,
        class: upstream.class,
        conceal: (text) => upstream.conceal(text),
        retries,
        ended: ending(upstream, report, context),
      },
    };
  }
  const read = needsBody(status);
  if (!read) answer.discard();
  const error = read ? await readErrorBody(answer, (body) => call.readError(body)) : undefined;
  if (call.signal.aborted) {
    report({ is: 'Left' }, context.now());
    return { end: aborted() };
  }
  const outcome = outcomeOf(answer, error, context.now());
  report(outcome, context.now());
  if (outcome.is === 'Refused' || outcome.is === 'Limited') context.answered(upstream.name);
  const refused = refusalStatus(status, error);
  if (outcome.is === 'Refused' && refused !== undefined) {
    const told = (error && concealed(error, upstream)) ?? {
      message: `The model's upstream refused the request with status ${status} and no reason.`,
    };
    return { end: { outcome: 'Refused', status: refused, error: told, class: upstream.class } };
  }
  const refusesKey = outcome.is === 'KeyRefused';
  if (upstream.probe === undefined) return { why: outcome.is === 'Limited' ? 'Overloaded' : 'Unavailable' };
  context.note(
    `upstream ${upstream.name}: answered ${status}${refusesKey ? ', which refuses its key or lacks credit' : ''}`,
    refusesKey ? 'Grave' : 'Usual',
  );
  return { why: outcome.is === 'Limited' ? 'Overloaded' : 'Unavailable' };
}

/** Each of its texts. */
function concealed(error: UpstreamError, { conceal }: Upstream): UpstreamError {
  const { message, type, code, param } = error;
  return {
    message: conceal(message),
    ...(type === undefined ? {} : { type: conceal(type) }),
    ...(code === undefined ? {} : { code: conceal(code) }),
    ...(param === undefined ? {} : { param: conceal(param) }),
  };
}

function ending(
  upstream: Upstream,
  report: Report,
  { now, note }: ForwardContext,
): (how: 'Whole' | 'Broken' | 'Left') => void {
  let said = false;
  return (how) => {
    if (said) return;
    said = true;
    // What breaks off without a probe a client has asked for.
    if (how === 'Broken' && upstream.probe !== undefined)
      note(`upstream ${upstream.name}: its answer broke off, or was none`, 'Usual');
    report(how === 'Broken' ? { is: 'Failed', cause: 'Failing' } : { is: how }, now());
  };
}

function aborted(): Forwarded {
  return { outcome: 'Failed', reason: 'Aborted', retryAfterSeconds: undefined };
}

function whyCooling(health: RouteHealth): Why {
  return health.is === 'Cooling' && health.cause === 'Limited' ? 'Overloaded' : 'Unavailable';
}

/** Overloaded says that waiting helps, so one such route is enough; a time-out only when nothing else happened. */
function overall(reasons: readonly Why[]): Why {
  if (reasons.includes('Overloaded')) return 'Overloaded';
  return reasons.length > 0 && reasons.every((reason) => reason === 'TimedOut') ? 'TimedOut' : 'Unavailable';
}

/** When the first of the routes may be up again; undefined: there is none. */
function retryAfter(routes: readonly RouteHealth[], now: number): number | undefined {
  if (routes.length === 0) return undefined;
  const waits = routes.map((health) => (health.is === 'Cooling' ? health.until - now : 0));
  return Math.min(Math.max(Math.ceil(Math.min(...waits) / 1000), 1), LONGEST_RETRY_AFTER_S);
}
