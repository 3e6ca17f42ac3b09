/** The named schemas of the documents: shared shapes (ObjectMeta, ListMeta, Status, DeleteOptions) and each kind's. Pure. */
import { ERROR_CODES } from '../../src/api/errors/codes.js';
import { metadataSchema } from '../../src/api/metadata.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { apiVersionOf, listKindOf } from '../table/rendering.js';
import { mergePatchOf } from './merge-patch.js';
import { described, mark, ref, schemaOf, type Node } from './schema.js';

const text = (description: string): Node => ({ type: 'string', description });

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export function gvkOf(group: string, kind: KindDefinition, name: string = kind.kind): GroupVersionKind {
  return { group: kind.group === 'core' ? '' : group, version: kind.version, kind: name };
}

const API_VERSION = text('Group and version of the schema of this object.');
const KIND = text('Kind of this object.');

const LIST_META: Node = {
  type: 'object',
  description: 'Metadata of a list.',
  properties: {
    continue: text('Set when there is more: pass it as `continue` to get the next page of the same snapshot.'),
    remainingItemCount: {
      type: 'integer',
      format: 'int64',
      description: 'Objects after this page; left out with selectors, and when it is not known.',
    },
    resourceVersion: text('Version at which the list is true; a watch goes on from it.'),
    selfLink: text('Not set.'),
    shardInfo: {
      type: 'object',
      description: 'Not set: lists are not sharded.',
      properties: { selector: text('Selector of the shard.') },
    },
  },
};

const STATUS: Node = {
  type: 'object',
  description: 'What went wrong: the answer to every request that fails.',
  required: [
    'apiVersion',
    'kind',
    'metadata',
    'status',
    'code',
    'reason',
    'message',
    'details',
    'docs',
    'fix',
    'requestId',
  ],
  properties: {
    apiVersion: text('v1'),
    kind: text('Status'),
    metadata: described('ListMeta', 'Empty.'),
    status: text('Failure.'),
    code: { type: 'integer', format: 'int32', description: 'HTTP status.' },
    reason: { ...text('Registered error code.'), example: 'NotFound', 'x-known-values': [...ERROR_CODES] },
    message: text('What went wrong, for people.'),
    details: {
      type: 'object',
      description: 'What it is about.',
      properties: {
        causes: {
          type: 'array',
          description: 'Everything that is wrong with the request, one by one.',
          items: {
            type: 'object',
            properties: {
              field: text('Path of the field, such as spec.env[3].name.'),
              message: text('What is wrong with it.'),
              reason: text('Why, as one word.'),
            },
          },
        },
        group: text('API group of the object.'),
        kind: text('Kind of the object.'),
        name: text('Name of the object.'),
        retryAfterSeconds: { type: 'integer', format: 'int32', description: 'Seconds until a repeat is worth trying.' },
        epoch: { type: 'integer', description: 'The epoch that it is at, for one who meant another.' },
        uid: text('uid of the object.'),
      },
    },
    docs: text("Address of the code's page."),
    fix: text('What to do next.'),
    requestId: text('Names this request in the logs.'),
  },
  'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Status' }],
};

const DELETE_OPTIONS: Node = {
  type: 'object',
  description: 'How to delete.',
  properties: {
    apiVersion: API_VERSION,
    kind: KIND,
    dryRun: { type: 'array', items: { type: 'string', enum: ['All'] }, description: '`All`: change nothing.' },
    gracePeriodSeconds: { type: 'integer', format: 'int64', minimum: 0, description: 'Seconds that work has to end.' },
    propagationPolicy: {
      type: 'string',
      enum: ['Foreground', 'Background', 'Orphan'],
      description: 'What becomes of the objects that this one owns: deleted before it, after it, or released.',
    },
    preconditions: {
      type: 'object',
      description: 'Delete only when the object is this one.',
      properties: { uid: text('uid that it must have.'), resourceVersion: text('Version that it must have.') },
    },
  },
};

const JSON_PATCH: Node = {
  type: 'array',
  description: 'RFC 6902.',
  items: {
    type: 'object',
    required: ['op', 'path'],
    properties: {
      op: {
        type: 'string',
        enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'],
        description: 'What to do.',
      },
      path: text('JSON pointer.'),
      from: text('JSON pointer, for move and copy.'),
      value: { description: 'Any value.' },
    },
  },
};

export function sharedSchemas(): Record<string, Node> {
  return {
    ObjectMeta: schemaOf(metadataSchema),
    ObjectMetaPatch: mergePatchOf(schemaOf(metadataSchema)),
    ListMeta: LIST_META,
    Status: STATUS,
    DeleteOptions: DELETE_OPTIONS,
    JSONPatch: JSON_PATCH,
  };
}

/**
 * Component of a kind's list as it is answered. Where a list may also be sent, that one is `<Kind>ListCreate` and has a
 * maximum, which the list that is read has not.
 */
export function listComponent(kind: KindDefinition): string {
  return kind.batch === undefined ? listKindOf(kind) : `${listKindOf(kind)}Read`;
}

export function batchComponent(kind: KindDefinition): string {
  return `${listKindOf(kind)}Create`;
}

/** The body of a merge patch; the status, when it is sent along, changes nothing. */
function patchSchema(kind: KindDefinition, spec: Node): Node {
  return {
    type: 'object',
    description: `What of a ${kind.kind} is to change (RFC 7396): null takes a field out.`,
    properties: {
      apiVersion: API_VERSION,
      kind: KIND,
      metadata: described('ObjectMetaPatch', 'Labels, annotations and the rest of what clients write.'),
      spec: mergePatchOf(spec),
      status: { type: 'object', description: 'Ignored.', additionalProperties: true },
    },
  };
}

export function patchComponent(kind: KindDefinition): string {
  return `${kind.kind}Patch`;
}

/** `Job`, `JobSpec`, `JobStatus`, `JobList`, and what the kind shows beside them. */
export function kindSchemas(group: string, kind: KindDefinition): Record<string, Node> {
  const { kind: name } = kind;
  const spec = schemaOf(kind.schema.spec);
  mark(spec, kind.schema.immutable, 'x-immutable', 'Immutable.');
  mark(spec, kind.schema.raiseOnly, 'x-raise-only', 'May only be raised.');
  const status = schemaOf(kind.schema.status);
  const apiVersion = apiVersionOf(group, kind);
  const listHead = {
    apiVersion: { ...API_VERSION, example: apiVersion },
    kind: { ...KIND, example: listKindOf(kind) },
    metadata: described('ListMeta', 'Version and page.'),
  };
  const listGvk = { 'x-kubernetes-group-version-kind': [gvkOf(group, kind, listKindOf(kind))] };
  return {
    ...Object.fromEntries(Object.entries(kind.components ?? {}).map(([key, schema]) => [key, schemaOf(schema)])),
    [`${name}Spec`]: { description: `Desired state of a ${name}.`, ...spec },
    [`${name}Status`]: { description: `Observed state of a ${name}. Written by the service.`, ...status },
    [name]: {
      type: 'object',
      description: kind.description,
      required: ['metadata', ...(kind.schema.spec.safeParse({}).success ? [] : ['spec'])],
      properties: {
        apiVersion: { ...API_VERSION, example: apiVersion },
        kind: { ...KIND, example: name },
        metadata: described('ObjectMeta', 'Standard metadata: name, project, labels, version.'),
        spec: described(`${name}Spec`, 'Desired state, written by clients.'),
        status: described(`${name}Status`, 'Observed state, written by the service; ignored when sent.'),
      },
      'x-kubernetes-group-version-kind': [gvkOf(group, kind)],
    },
    ...(kind.operations.has('patch') && { [patchComponent(kind)]: patchSchema(kind, spec) }),
    [listComponent(kind)]: {
      type: 'object',
      description: `A list of ${kind.plural}.`,
      required: ['apiVersion', 'kind', 'metadata', 'items'],
      properties: {
        ...listHead,
        items: { type: 'array', items: ref(name), description: 'The objects, by project and name.' },
      },
      ...listGvk,
    },
    ...(kind.batch && {
      [batchComponent(kind)]: {
        type: 'object',
        description: `Several ${kind.plural} that are created at once.`,
        required: ['items'],
        properties: {
          ...listHead,
          items: {
            type: 'array',
            minItems: 1,
            maxItems: kind.batch.most,
            items: ref(name),
            description: 'The objects.',
          },
        },
        ...listGvk,
      },
    }),
  };
}
