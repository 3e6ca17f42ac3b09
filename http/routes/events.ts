/** Serves `/apis/{g}/v1/events` and `…/namespaces/{ns}/events`. What kubectl reads, `/api/v1/…/events`: `core-events.ts`. */
import { freeWithAnswer } from '../answer-places.js';
import { badParameter } from '../bad-parameter.js';
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import { requireScope } from '../auth/authorise.js';
import type { EventQuery, StoredEvent } from '../../storage/events.js';
import type { Exchange } from '../exchange.js';
import type { CollectionRouteTarget } from '../target.js';
import { replyJson } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readFlag, readLimit } from '../resources/versions.js';
import type { ServerContext } from '../server-context.js';
import { Outflow } from '../stream.js';

export const SCOPE = 'events:read';
/** Events of a page when the client does not say. */
const PAGE = 100;
/** How often a follower's new events are looked for, ms: an indexed read of one org. */
const POLL_MS = 500;

/** Without a kind or a name it is any. */
const OBJECT = /^(?:[a-z]*\/[a-z0-9.-]{0,253}|[0-9a-f-]{36}|)$/i;
const TYPE = /^(?:\*|[a-z0-9]+\.(?:\*|[a-z0-9_]+))$/;

export async function serveEvents(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: CollectionRouteTarget,
): Promise<void> {
  if (target.rest.length > 0) throw refuse('NotFound', 'single events cannot be read; list them');
  if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
  const { project } = target;
  x.verb = 'list';
  requireScope(caller, SCOPE, project ?? '');
  const query: EventQuery = {
    project,
    object: readMatching(
      x,
      'object',
      OBJECT,
      'must be <kind>/<name> or a uid',
      'Ask for object=Job/squares, for example.',
    ),
    type: readMatching(x, 'type', TYPE, 'must be an event type or a prefix', 'Ask for type=job.* or type=job.failed.'),
    after: x.query.get('after') ?? undefined,
    limit: readLimit(x.query.get('limit')) ?? PAGE,
  };
  if (readFlag(x.query, 'follow') === true) {
    return followEvents(x, context, caller, query, {
      type: 'application/x-ndjson',
      lineOf: (event) => `${JSON.stringify(viewOf(event))}\n`,
    });
  }
  const place = await context.answerPlaces.take(caller.org, AbortSignal.any([x.gone, context.deadlines.current()]));
  try {
    const { items, next } = await context.events.list(caller.org, query, context.deadlines.current());
    await context.resources.slice(caller.org);
    replyJson(x, 200, { items: items.map(viewOf), ...(next === undefined ? {} : { continue: next }) });
  } catch (error) {
    place.free();
    throw error;
  }
  freeWithAnswer(place, x.res);
}

function viewOf({ id, type, reason, message, count, firstTime, lastTime, kind, name, uid, project }: StoredEvent) {
  return {
    ...{ id, type, reason, message, count },
    firstTime: firstTime.toISOString(),
    lastTime: lastTime.toISOString(),
    object: { kind, name, uid, ...(project === '' ? {} : { namespace: project }) },
  };
}

/** Refuses what no event can match, and a reader would take for silence. */
function readMatching(x: Exchange, name: string, form: RegExp, rule: string, fix: string): string | undefined {
  const value = x.query.get(name) ?? undefined;
  if (value === undefined || form.test(value)) return value;
  throw badParameter(name, value, rule, fix);
}

export interface Lines {
  /** Content-Type. */
  readonly type: string;
  /** With its end; undefined: nothing of this event is sent. */
  lineOf(event: StoredEvent): string | undefined;
  /** When the answer ends by itself, by performance.now(). */
  readonly endAt?: number | undefined;
}

/** Whether a caller may still read what it asked for. */
export function allowsEvents({ project = '', ofOrg }: EventQuery): (asked: Caller) => boolean {
  return (asked) => asked.may(SCOPE, project) && (ofOrg !== true || asked.may(SCOPE, ''));
}

/**
 * One line per event, as they come. A follower that falls behind waits on its socket and not in our memory: a page is read when there is a
 * place for it (`answer-places.ts`), and the next one when the client has taken it.
 */
export async function followEvents(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  query: EventQuery,
  { type, lineOf, endAt = Infinity }: Lines,
): Promise<void> {
  x.verb = 'logs';
  const { res } = x;
  let ended = false;
  const end = (): void => {
    ended = true;
    res.end();
  };
  const release = context.streams.add(x, {
    allows: allowsEvents(query),
    sweep: (now) => (now >= endAt ? end() : undefined),
    end,
  });
  try {
    res.writeHead(200, {
      'content-type': type,
      'cache-control': 'no-cache, private',
      'x-request-id': x.requestId,
    });
    res.flushHeaders();
    const out = new Outflow(res);
    let { after } = query;
    const limit = Math.min(query.limit, PAGE);
    while (!out.closed && !ended) {
      const place = await context.answerPlaces.take(caller.org, x.gone);
      let isLast = true;
      try {
        const { items, next } = await context.events.list(caller.org, { ...query, after, limit }, x.gone);
        await context.resources.slice(caller.org);
        const lines = items.flatMap((item) => lineOf(item) ?? []);
        if (lines.length > 0 && !ended) out.write(lines.join(''));
        await place.untilTaken(out.taken(), () => res.destroy());
        after = next ?? after;
        isLast = items.length < limit;
      } finally {
        place.free();
      }
      if (isLast) await pause(POLL_MS, x.gone);
    }
  } catch (error) {
    if (!x.gone.aborted) throw error;
  } finally {
    release();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
