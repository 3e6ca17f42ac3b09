/** The parameters and headers of the generic routes, each described once. Pure. */
import type { Node } from './schema.js';

interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly description: string;
  readonly required?: true;
  readonly schema: Node;
}

function query(name: string, description: string, schema: Node = { type: 'string' }): Parameter {
  return { name, in: 'query', description, schema };
}

function path(name: string, description: string): Parameter {
  return { name, in: 'path', required: true, description, schema: { type: 'string', maxLength: 253 } };
}

function header(name: string, description: string): Parameter {
  return { name, in: 'header', description, schema: { type: 'string' } };
}

const INTEGER: Node = { type: 'integer', format: 'int64' };
const BOOLEAN: Node = { type: 'boolean' };

export const NAMESPACE = path('namespace', 'The project.');
export const NAME = path('name', 'Name of the object.');

export const LIST_PARAMETERS: readonly Parameter[] = [
  query('labelSelector', 'Only objects whose labels match, such as `app=web,tier in (a,b),!legacy`.'),
  query('fieldSelector', 'Only objects whose fields match, such as `metadata.name=a,status.phase!=Running`.'),
  query('limit', 'Objects per page, at most 1000. Without it the whole list is streamed.', INTEGER),
  query('continue', '`metadata.continue` of the page before.'),
  query('watch', 'Stream changes as lines of {"type","object"} instead of listing.', BOOLEAN),
  query('resourceVersion', 'A list not older than this version, or a watch from it on. `0`: any state.'),
  query('resourceVersionMatch', 'How `resourceVersion` is meant.', { type: 'string', enum: ['Exact', 'NotOlderThan'] }),
  query('sendInitialEvents', 'Watch: the current state first, ended by a bookmark.', BOOLEAN),
  query('allowWatchBookmarks', 'Watch: send BOOKMARK events with the version reached, about once a minute.', BOOLEAN),
  query('timeoutSeconds', 'Watch: end after this long.', INTEGER),
];

export const WRITE_PARAMETERS: readonly Parameter[] = [
  query('dryRun', '`All`: check everything and change nothing.', { type: 'string', enum: ['All'] }),
  query('fieldValidation', 'What to do with unknown and duplicate fields. Warn by default.', {
    type: 'string',
    enum: ['Ignore', 'Warn', 'Strict'],
  }),
  query('fieldManager', 'Name noted in managedFields. By default, the beginning of the User-Agent.', {
    type: 'string',
    maxLength: 128,
  }),
];

export const DELETE_PARAMETERS: readonly Parameter[] = [
  query('propagationPolicy', 'What becomes of the objects that this one owns.', {
    type: 'string',
    enum: ['Foreground', 'Background', 'Orphan'],
  }),
  query('gracePeriodSeconds', 'Seconds that work has to end.', INTEGER),
];

export const IDEMPOTENCY_KEY: Parameter = header(
  'Idempotency-Key',
  'The same key and request from the same credential within 24 hours gets the stored answer instead of a second write.',
);

export const WRITE_HEADERS: readonly Parameter[] = [
  IDEMPOTENCY_KEY,
  header(
    'If-Match',
    'ETag of the object that is to be changed; another version is 412. Of a create: ETag of its dry run, which agrees to its rate and up to 10 % more; above that 402, and 412 with the tag of anything else.',
  ),
];

/** Of a read. */
export const IF_NONE_MATCH: Parameter = header(
  'If-None-Match',
  'ETag of what the client has already; 304 while that is the newest version.',
);

export const ETAG: Node = { ETag: { description: 'Version of the object, in quotes.', schema: { type: 'string' } } };
