/** The description of the routes beside the kinds: blobs, events, operators, health. Pure. */
import type { KindDefinition } from '../../src/kinds/kind.js';
import { json } from '../routes/declared/bodies.js';
import { EVENT_TABLE } from '../../src/kinds/events/table.js';
import {
  ACTOR,
  ADMISSIONS,
  LEDGER_AUDIT,
  LEDGER_MONTH,
  NEW_ORG,
  ORG,
  PARKED,
  READINESS,
  restarted,
  SUPERVISOR,
  VERSION,
} from './answers.js';
import { attemptPaths } from './attempt-paths.js';
import { declaredPaths } from './declared-paths.js';
import { inferencePaths } from './inference-paths.js';
import { IDEMPOTENCY_KEY, LIST_PARAMETERS, NAMESPACE } from './parameters.js';
import { BOOLEAN, BYTES, INTEGER, list, path, query, route, TEXT, type Route } from './route.js';
import { ref, type Node } from './schema.js';
import { subresourcePaths } from './subresources/paths.js';
import { billingOperatorPaths } from './billing-operator-paths.js';
import { walletPaths } from './wallet-paths.js';

const EVENTS_SAID = 'Events of the last 30 days, oldest first; as lines of JSON when following.';

export function fixedPaths(group: string, kinds: readonly KindDefinition[]): Record<string, Node> {
  const base = `/apis/${group}/v1`;
  const project = `${base}/namespaces/{namespace}`;
  const place = [NAMESPACE as unknown as Node];
  const digest = [...place, path('digest', '`sha256:` and 64 hexadecimal digits.')];
  const events = [
    query('object', 'Events of this object: `<kind>/<name>` or a uid.'),
    query('type', 'Event type, or a prefix such as `job.*`.', { ...TEXT, 'x-known-values': [...EVENT_TABLE.keys()] }),
    query('after', 'Cursor: events after this one.'),
    query('follow', 'Stream new events as lines.', BOOLEAN),
    ...LIST_PARAMETERS.filter((parameter) => parameter.name === 'limit').map((parameter): Node => ({ ...parameter })),
  ];
  const ops = (id: string, summary: string, schema: Node, more: Partial<Route> = {}, status = 200): Node =>
    route({ id, tag: 'Operators', summary, answer: { status, schema, description: 'What there is.' }, ...more });
  const ofName = path('name', 'The name of the org.');
  const ofKind = [path('kind', 'The kind.')];
  const ofMonth = path('month', 'Such as 2026-08.');
  const ofObject = [path('uid', 'uid of the object.')];
  const declared = declaredPaths(group, kinds);
  const wallet = walletPaths(group);
  return {
    ...declared,
    ...Object.fromEntries(Object.entries(wallet).map(([at, node]) => [at, { ...node, ...declared[at] }])),
    ...attemptPaths(),
    ...inferencePaths(),
    ...subresourcePaths(group, kinds),
    [`${project}/blobs`]: {
      post: route({
        id: 'uploadBlob',
        tag: 'Blobs',
        summary: 'Store bytes by their SHA-256',
        parameters: [
          ...place,
          { name: 'X-Content-SHA256', in: 'header', description: 'Checked against the bytes.', schema: TEXT },
        ],
        body: { required: true, content: { 'application/octet-stream': { schema: BYTES } } },
        answer: {
          status: 201,
          schema: { type: 'object', required: ['digest', 'size'], properties: { digest: TEXT, size: INTEGER } },
          description: 'Stored.',
        },
      }),
    },
    [`${project}/blobs/{digest}`]: {
      get: route({
        id: 'readBlob',
        tag: 'Blobs',
        summary: 'Download a blob',
        parameters: digest,
        answer: { type: 'application/octet-stream', schema: BYTES, description: 'The bytes.' },
      }),
      head: route({
        id: 'statBlob',
        tag: 'Blobs',
        summary: 'Ask whether a blob is there',
        parameters: digest,
        answer: { type: 'application/octet-stream', schema: BYTES, description: 'It is there.' },
      }),
    },
    [`${base}/events`]: {
      get: route({
        id: 'listEvents',
        tag: 'Events',
        summary: 'List the events of the org',
        parameters: events,
        answer: { schema: list(ref('Event'), { continue: TEXT }), description: EVENTS_SAID },
      }),
    },
    [`${project}/events`]: {
      get: route({
        id: 'listProjectEvents',
        tag: 'Events',
        summary: 'List the events of a project',
        parameters: [...place, ...events],
        answer: { schema: list(ref('Event'), { continue: TEXT }), description: EVENTS_SAID },
      }),
    },
    '/payments/stripe': {
      post: route({
        id: 'receiveStripeWebhook',
        tag: 'Payments',
        summary: 'Takes a webhook of Stripe, which its signature lets in',
        open: true,
        parameters: [
          {
            ...{ name: 'Stripe-Signature', in: 'header', required: true, schema: TEXT },
            description: 'HMAC-SHA256 of the time and the bytes of the body.',
          },
        ],
        body: json({ type: 'object', description: "An event, as Stripe's documentation has it." }),
        answer: {
          schema: { type: 'object', required: ['received'], properties: { received: BOOLEAN } },
          description: 'What it says is committed, or says nothing of this service.',
        },
      }),
    },
    '/ops/v1/orgs': {
      get: ops('listOrgs', 'List the orgs of this service', list(ORG)),
      post: ops(
        'createOrg',
        'Make an org; the answer holds the key of its Owner, once',
        NEW_ORG,
        {
          parameters: [{ ...IDEMPOTENCY_KEY }],
          body: json({ type: 'object', required: ['name'], properties: { name: TEXT } }),
        },
        201,
      ),
    },
    '/ops/v1/orgs/{name}/keys': {
      post: ops(
        'createOrgKey',
        'Make one more Owner key of an org whose Owners are locked out; the answer holds it, once',
        NEW_ORG,
        {
          parameters: [ofName, { ...IDEMPOTENCY_KEY }],
          body: json({ type: 'object', additionalProperties: false }),
        },
        201,
      ),
    },
    '/ops/v1/supervisors': {
      get: ops('listSupervisors', 'Actors, mailboxes, restarts and crashes of every kind', list(SUPERVISOR)),
    },
    '/ops/v1/supervisors/{kind}': {
      get: ops('readSupervisor', 'The same for one kind', SUPERVISOR, { parameters: ofKind }),
    },
    '/ops/v1/supervisors/{kind}/parked': {
      get: ops(
        'listParked',
        'Objects of a kind whose actor is parked, a page at a time',
        list(PARKED, { metadata: { type: 'object', properties: { continue: TEXT } } }),
        {
          parameters: [
            ...ofKind,
            query('limit', 'At most so many (500).', INTEGER),
            query('continue', 'Of the page before.'),
          ],
        },
      ),
    },
    '/ops/v1/supervisors/{kind}/restarts': {
      post: ops('restartSupervisor', 'Restart all actors of a kind', restarted('kind'), { parameters: ofKind }, 202),
    },
    '/ops/v1/actors/{uid}': {
      get: ops('readActor', 'The actor of one object', ACTOR, { parameters: ofObject }),
    },
    '/ops/v1/actors/{uid}/restarts': {
      post: ops('restartActor', 'Restart the actor of one object', restarted('uid'), { parameters: ofObject }, 202),
    },
    '/ops/v1/admissions': {
      get: ops('readAdmissions', 'Whether new work is paused', ADMISSIONS),
      post: ops('setAdmissions', 'Pause or resume new work', ADMISSIONS, { body: json(ADMISSIONS) }),
    },
    '/ops/v1/ledger': {
      get: ops('readLedgerAudit', 'What the last audit of the ledger has found', LEDGER_AUDIT),
    },
    '/ops/v1/ledger/audits': {
      post: ops('auditLedger', 'Audit the ledger now', LEDGER_AUDIT, {}, 202),
    },
    '/ops/v1/ledger/months': {
      get: ops('listLedgerMonths', 'The months of posting, oldest first', list(LEDGER_MONTH)),
    },
    '/ops/v1/ledger/months/{month}': {
      get: route({
        id: 'exportLedgerMonth',
        tag: 'Operators',
        summary: 'Export a closed month',
        parameters: [ofMonth],
        answer: {
          type: 'application/x-ndjson',
          schema: TEXT,
          description:
            'A line of JSON for each posting of all orgs; the last one has the sums, and the SHA-256 of all before it.',
        },
      }),
      delete: ops('detachLedgerMonth', 'Remove the postings of a month that was exported', LEDGER_MONTH, {
        parameters: [ofMonth, query('sha256', 'Of the export that is kept: from its last line.')],
      }),
    },
    ...billingOperatorPaths(),
    ...open('/livez', 'readLiveness', 'Does the event loop of the process answer', 'text/plain'),
    ...open(
      '/readyz',
      'readReadiness',
      'May it be sent requests, what is missing, and what is behind',
      'application/json',
      READINESS,
    ),
    ...open('/metrics', 'readMetrics', 'Prometheus metrics', 'text/plain'),
    ...open('/version', 'readVersion', 'Version of the program', 'application/json', VERSION),
    '/docs/errors': {
      get: route({
        id: 'listErrorDocs',
        tag: 'Health',
        summary: 'All error codes',
        open: true,
        answer: { type: 'text/html', schema: TEXT, description: 'The page.' },
      }),
    },
    '/docs/errors/{code}': {
      get: route({
        id: 'readErrorDocs',
        tag: 'Health',
        summary: 'What an error code means and what to do',
        parameters: [path('code', 'Registered error code.')],
        open: true,
        answer: { type: 'text/html', schema: TEXT, description: 'The page.' },
      }),
    },
  };
}

function open(at: string, id: string, summary: string, type: string, schema: Node = TEXT): Record<string, Node> {
  return {
    [at]: {
      get: route({ id, tag: 'Health', summary, open: true, answer: { type, schema, description: 'So it is.' } }),
    },
  };
}
