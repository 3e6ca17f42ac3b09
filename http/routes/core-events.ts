/**
 * Serves `/api/v1/events` and `/api/v1/namespaces/{ns}/events`, which `kubectl events`, `kubectl describe` and `kubectl get events` read:
 * the org's stored events as core/v1 Events, listed (page by page, with `limit` and `continue`), watched, and one by its name
 * (`…/namespaces/{ns}/events/{name}`).
 *
 * A selector narrows what is read by kind, name and uid, and is then asked of each event: so a page may be shorter than its limit, and
 * have a `continue`. I10: at most one page is held; a watch looks for new events as a follower of our own route does (`events.ts`).
 */
import { DEFAULT_PROJECT } from '../../src/kinds/project/machine.js';
import { RefusalError, refuse } from '../../src/api/refusal.js';
import { parseFieldSelector, type FieldSelector } from '../../src/api/selectors/field.js';
import type { Caller } from '../../actors/resource-service.js';
import { cursorBehind, isCursor, type EventQuery, type StoredEvent } from '../../storage/events.js';
import { requireScope } from '../auth/authorise.js';
import { notAcceptable } from '../errors.js';
import type { Exchange } from '../exchange.js';
import { LongAnswer } from '../long-answer.js';
import { JSON_TYPE, replyObject } from '../reply.js';
import { readForm, readIncludeObject } from '../resources/answer.js';
import { invalidContinue } from '../resources/continue.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { invalid } from '../resources/options.js';
import { MAX_PAGE, readBoolean, readLimit, readTimeoutSeconds, readWatchStart } from '../resources/versions.js';
import type { ServerContext } from '../server-context.js';
import { apiVersionOf, listHead } from '../table/rendering.js';
import type { CollectionRouteTarget } from '../target.js';
import { coreEvent, EVENT_COLUMNS, EVENT_FIELDS, eventRow, parseEventName, type CoreEvent } from './event-forms.js';
import { allowsEvents, followEvents, SCOPE } from './events.js';

/** Without timeoutSeconds a watch ends after this, as Kubernetes' do. */
const WATCH_SECONDS = 30 * 60;

const MAX_NAME = 253;

/** How events are shown. */
interface EventRendering {
  readonly head: string;
  element(event: CoreEvent): string;
  /** One alone, as a watch sends it. */
  single(event: CoreEvent): string;
}

export async function serveCoreEvents(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  { project, rest }: CollectionRouteTarget,
): Promise<void> {
  const [name] = rest;
  // One event is in a namespace, and nothing is below it.
  if (rest.length > 1 || (name !== undefined && project === undefined)) throw notFound(rest.join('/'));
  if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
  x.verb = name === undefined ? 'list' : 'get';
  requireScope(caller, SCOPE, project ?? '');
  const versions = new Map(context.kinds.map((kind) => [kind.kind, apiVersionOf(context.config.group, kind)]));
  const formOf = (stored: StoredEvent): CoreEvent =>
    coreEvent(stored, (kind) => versions.get(kind) ?? `${context.config.group}/v1`);
  // The org's own objects have no namespace, and clients look for their events in this one.
  const ofOrg = project === DEFAULT_PROJECT && caller.may(SCOPE, '');
  if (name !== undefined) return readOne(x, context, caller, { project, ofOrg, limit: 1 }, name, formOf);
  const rendering = renderingOf(x, context);
  const fields = fieldsOf(x);
  const within = project ?? fields.exact('involvedObject.namespace');
  const query: EventQuery = {
    project: within === '' ? undefined : within,
    ofOrg,
    kind: fields.exact('involvedObject.kind'),
    name: fields.exact('involvedObject.name'),
    uid: fields.exact('involvedObject.uid'),
    limit: MAX_PAGE,
  };
  const shown = (stored: StoredEvent): CoreEvent | undefined => {
    const event = formOf(stored);
    return fields.matches(event) ? event : undefined;
  };
  if (readBoolean(x.query, 'watch') === true) return watch(x, context, caller, { ...query, project }, shown, rendering);
  return list(x, context, caller, query, shown, rendering);
}

type Shown = (event: StoredEvent) => CoreEvent | undefined;

/** A client may have sent anything. */
function notFound(path: string): RefusalError {
  const name = path.slice(0, MAX_NAME);
  return refuse('NotFound', `Event ${JSON.stringify(name)} not found`, {
    target: { kind: 'Event', name },
    fix: 'List the events of the namespace: each is kept for 30 days from when it was raised last.',
  });
}

async function readOne(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  within: EventQuery,
  name: string,
  formOf: (event: StoredEvent) => CoreEvent,
): Promise<void> {
  const form = readForm(x);
  const parsed = parseEventName(name);
  const query = parsed && { ...within, ...parsed };
  const page = query && (await context.events.list(caller.org, query, context.deadlines.current()));
  const stored = page?.items[0];
  if (stored === undefined) throw notFound(name);
  const event = formOf(stored);
  const etag = event.metadata.resourceVersion;
  if (form.form === 'object' && form.yaml) {
    const { buffer, byteOffset, length } = await context.yaml.write(caller.org, Buffer.from(JSON.stringify(event)));
    replyObject(x, 200, Buffer.from(buffer, byteOffset, length), etag, { 'content-type': 'application/yaml' });
  } else {
    replyObject(x, 200, Buffer.from(renderingOf(x, context).single(event)), etag);
  }
}

async function list(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  query: EventQuery,
  shown: Shown,
  rendering: EventRendering,
): Promise<void> {
  const limit = readLimit(x.query.get('limit'));
  let after = x.query.get('continue') ?? '';
  if (after !== '' && !isCursor(after)) throw invalidContinue();
  const meta: { resourceVersion: string; continue?: string } = { resourceVersion: String(context.resources.version()) };
  const answer = new LongAnswer(x, { 'content-type': JSON_TYPE, 'cache-control': 'no-cache, private' }, 'WhenLong');
  const pageLimit = limit ?? MAX_PAGE;
  const unfollow = context.revocation.follow(x, { allows: allowsEvents(query) });
  let before = rendering.head;
  try {
    for (;;) {
      if (answer.closed) return;
      const page = { ...query, after, limit: pageLimit };
      const { items, next } = await context.events.list(caller.org, page, context.deadlines.current());
      for (const item of items) {
        const event = shown(item);
        if (event === undefined) continue;
        await answer.write(before + rendering.element(event));
        before = ',';
      }
      const more = items.length === pageLimit ? next : undefined;
      if (more === undefined || limit !== undefined) {
        if (more !== undefined) meta.continue = more;
        break;
      }
      after = more;
    }
    await answer.end(`${before === ',' ? '' : before}],"metadata":${JSON.stringify(meta)}}`);
  } catch (error) {
    answer.abandon();
    throw error;
  } finally {
    unfollow();
  }
}

async function watch(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  query: EventQuery,
  shown: Shown,
  rendering: EventRendering,
): Promise<void> {
  const start = readWatchStart(x.query);
  if (start.initialEndBookmark) {
    // Clients that ask for it list and watch instead.
    const message = 'Forbidden: events are listed and then watched';
    throw invalid(`sendInitialEvents: ${message}`, [
      { field: 'sendInitialEvents', reason: 'FieldValueForbidden', message },
    ]);
  }
  const after = start.initial ? undefined : cursorBehind(start.from ?? context.resources.version());
  const seconds = readTimeoutSeconds(x.query.get('timeoutSeconds')) ?? WATCH_SECONDS;
  await followEvents(
    x,
    context,
    caller,
    { ...query, after },
    {
      type: JSON_TYPE,
      endAt: performance.now() + seconds * 1_000,
      lineOf(stored) {
        const event = shown(stored);
        if (event === undefined) return undefined;
        const type = stored.count > 1 ? 'MODIFIED' : 'ADDED';
        return `{"type":"${type}","object":${rendering.single(event)}}\n`;
      },
    },
  );
}

function fieldsOf(x: Exchange): FieldSelector<CoreEvent> {
  if ((x.query.get('labelSelector') ?? '') !== '')
    throw refuse('BadRequest', 'events have no labels', { fix: 'Select by fieldSelector.' });
  const read = parseFieldSelector(x.query.get('fieldSelector') ?? '', EVENT_FIELDS);
  if (read.outcome === 'Refused') throw new RefusalError(read.refusal);
  return read.selector;
}

function renderingOf(x: Exchange, { clock }: ServerContext): EventRendering {
  const form = readForm(x);
  switch (form.form) {
    case 'object': {
      // What is streamed cannot be made YAML of.
      if (form.yaml) throw notAcceptable();
      const element = (event: CoreEvent): string => JSON.stringify(event);
      return { head: listHead('EventList', 'v1', undefined, '', 'items'), element, single: element };
    }
    case 'partial': {
      const element = (event: CoreEvent): string => JSON.stringify(partial(event));
      return { head: listHead('PartialObjectMetadataList', META, undefined, '', 'items'), element, single: element };
    }
    case 'table': {
      const include = readIncludeObject(x);
      const element = (event: CoreEvent): string => {
        const object = include === 'None' ? null : include === 'Object' ? event : partial(event);
        return JSON.stringify(eventRow(event, object, clock()));
      };
      const columns = `"columnDefinitions":${EVENT_COLUMNS},`;
      return {
        head: listHead('Table', META, undefined, columns, 'rows'),
        element,
        single(event) {
          const meta = JSON.stringify({ resourceVersion: event.metadata.resourceVersion });
          return `${listHead('Table', META, meta, columns, 'rows')}${element(event)}]}`;
        },
      };
    }
  }
}

const META = 'meta.k8s.io/v1';

function partial({ metadata }: CoreEvent): object {
  return { kind: 'PartialObjectMetadata', apiVersion: META, metadata };
}
