/** The paths that each kind gets from the generic routes. Pure. */
import { deletesCollections } from '../../src/kinds/declare.js';
import type { KindAction, KindDefinition, Operation } from '../../src/kinds/kind.js';
import { batchComponent, gvkOf, listComponent, patchComponent } from './components.js';
import {
  DELETE_PARAMETERS,
  ETAG,
  IF_NONE_MATCH,
  LIST_PARAMETERS,
  NAME,
  NAMESPACE,
  WRITE_HEADERS,
  WRITE_PARAMETERS,
} from './parameters.js';
import { ref, schemaOf, type Node } from './schema.js';

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';

export function failure(): Node {
  return { description: 'What went wrong.', content: { [JSON_TYPE]: { schema: ref('Status') } } };
}

/** Of a conditional read. */
const UNCHANGED: Readonly<Record<string, Node>> = {
  304: { description: 'The client has this version already.', headers: ETAG },
};

function object(name: string, description: string): Node {
  return {
    description,
    headers: ETAG,
    content: { [JSON_TYPE]: { schema: ref(name) }, [YAML_TYPE]: { schema: ref(name) } },
  };
}

function body(schema: Node): Node {
  return { required: true, content: { [JSON_TYPE]: { schema }, [YAML_TYPE]: { schema } } };
}

/** One object; where the kind allows it, a list of them as well. */
function createBody(kind: KindDefinition): Node {
  const one = ref(kind.kind);
  return body(kind.batch === undefined ? one : { oneOf: [one, ref(batchComponent(kind))] });
}

const PATCH_BODY = (kind: KindDefinition): Node => ({
  required: true,
  content: {
    'application/merge-patch+json': { schema: ref(patchComponent(kind)) },
    'application/json-patch+json': { schema: ref('JSONPatch') },
  },
});

const DELETE_BODY: Node = {
  required: false,
  content: { [JSON_TYPE]: { schema: ref('DeleteOptions') }, [YAML_TYPE]: { schema: ref('DeleteOptions') } },
};

/** `listJobs`, `listJobsInEveryProject`, `patchJob`. */
function idOf(verb: string, kind: KindDefinition, suffix = ''): string {
  const plural = kind.kind.endsWith('s') ? kind.kind : `${kind.kind}s`;
  const noun = verb === 'list' || verb === 'deleteCollectionOf' ? plural : kind.kind;
  const beta = kind.version === 'v1' ? '' : kind.version.replace(/^v1/, '').replace(/^b/, 'B');
  return `${verb}${noun}${suffix}${beta}`;
}

interface Draft {
  readonly verb: string;
  readonly action: string;
  readonly summary: string;
  readonly id: string;
  readonly parameters?: readonly object[];
  readonly requestBody?: Node;
  readonly success: Readonly<Record<string, Node>>;
}

function operation(group: string, kind: KindDefinition, draft: Draft): Node {
  return {
    operationId: draft.id,
    summary: draft.summary,
    tags: [kind.kind],
    'x-kubernetes-action': draft.action,
    'x-kubernetes-group-version-kind': gvkOf(group, kind),
    ...(draft.parameters === undefined ? {} : { parameters: draft.parameters }),
    ...(draft.requestBody === undefined ? {} : { requestBody: draft.requestBody }),
    responses: { ...draft.success, default: failure() },
  };
}

function basePath(group: string, kind: KindDefinition): string {
  return kind.group === 'core' ? '/api/v1' : `/apis/${group}/${kind.version}`;
}

/** Path of one object of the kind. */
export function objectPathOf(group: string, kind: KindDefinition): string {
  const base = basePath(group, kind);
  return `${kind.scope === 'project' ? `${base}/namespaces/{namespace}` : base}/${kind.plural}/{name}`;
}

export function kindPaths(group: string, kind: KindDefinition): Record<string, Node> {
  const base = basePath(group, kind);
  const { kind: name, plural } = kind;
  const scoped = kind.scope === 'project' ? `${base}/namespaces/{namespace}/${plural}` : `${base}/${plural}`;
  const place = kind.scope === 'project' ? [NAMESPACE] : [];
  const has = (wanted: Operation): boolean => kind.operations.has(wanted);
  const make = (draft: Draft): Node => operation(group, kind, draft);
  const written = [...WRITE_PARAMETERS, ...WRITE_HEADERS];

  const list = (suffix: string, where: string): Node =>
    make({
      verb: 'get',
      action: 'list',
      id: idOf('list', kind, suffix),
      summary: `List or watch ${plural}${where}`,
      parameters: LIST_PARAMETERS,
      success: {
        200: { description: 'The list.', content: { [JSON_TYPE]: { schema: ref(listComponent(kind)) } } },
      },
    });

  const collection: Node = { ...(place.length > 0 ? { parameters: place } : {}) };
  if (has('list')) collection['get'] = list('', kind.scope === 'project' ? ' of a project' : '');
  if (has('create')) {
    const made = { verb: 'post', action: 'post', id: idOf('create', kind), summary: `Create a ${name}` };
    collection['post'] = make({
      ...made,
      parameters: written,
      requestBody: createBody(kind),
      success: { 201: object(name, 'Created.') },
    });
  }
  if (deletesCollections(kind)) {
    collection['delete'] = make({
      verb: 'delete',
      action: 'deletecollection',
      id: idOf('deleteCollectionOf', kind),
      summary: `Delete all ${plural} that match`,
      parameters: [...LIST_PARAMETERS.slice(0, 2), ...written, ...DELETE_PARAMETERS],
      requestBody: DELETE_BODY,
      success: {
        200: { description: 'What was deleted.', content: { [JSON_TYPE]: { schema: ref(listComponent(kind)) } } },
      },
    });
  }

  const paths: Record<string, Node> = {};
  if (Object.keys(collection).length > place.length) paths[scoped] = collection;
  if (kind.scope === 'project' && has('list')) {
    paths[`${base}/${plural}`] = { get: list('InEveryProject', ' of every project') };
  }
  const one = objectPath(kind, [...place, NAME], make, written);
  if (one !== undefined) paths[`${scoped}/{name}`] = one;
  if (has('readStatus')) {
    const draft = {
      verb: 'get',
      action: 'get',
      parameters: [IF_NONE_MATCH],
      id: idOf('read', kind, 'Status'),
      summary: `Read the status of a ${name}`,
    };
    paths[`${scoped}/{name}/status`] = {
      parameters: [...place, NAME],
      get: make({ ...draft, success: { 200: object(name, 'The object, with its status.'), ...UNCHANGED } }),
    };
  }
  for (const action of kind.actions ?? []) {
    paths[`${scoped}/{name}/${action.path}`] = {
      parameters: [...place, NAME],
      post: actionOperation(kind, action, make),
    };
  }
  return paths;
}

function objectPath(
  kind: KindDefinition,
  parameters: readonly object[],
  make: (draft: Draft) => Node,
  written: readonly object[],
): Node | undefined {
  const { kind: name } = kind;
  const ok = { 200: object(name, 'The object.') };
  const drafts: readonly (readonly [Operation, Draft])[] = [
    [
      'read',
      {
        verb: 'get',
        action: 'get',
        id: idOf('read', kind),
        summary: `Read a ${name}`,
        parameters: [IF_NONE_MATCH],
        success: { ...ok, ...UNCHANGED },
      },
    ],
    [
      'replace',
      {
        verb: 'put',
        action: 'put',
        id: idOf('replace', kind),
        summary: `Replace a ${name}`,
        parameters: written,
        requestBody: body(ref(name)),
        success: ok,
      },
    ],
    [
      'patch',
      {
        verb: 'patch',
        action: 'patch',
        id: idOf('patch', kind),
        summary: `Change parts of a ${name}`,
        parameters: written,
        requestBody: PATCH_BODY(kind),
        success: ok,
      },
    ],
    [
      'delete',
      {
        verb: 'delete',
        action: 'delete',
        id: idOf('delete', kind),
        summary: `Delete a ${name}`,
        parameters: [...written, ...DELETE_PARAMETERS],
        requestBody: DELETE_BODY,
        success: ok,
      },
    ],
  ];
  const served = drafts.filter(([wanted]) => kind.operations.has(wanted));
  if (served.length === 0) return undefined;
  return { parameters, ...Object.fromEntries(served.map(([, draft]) => [draft.verb, make(draft)])) };
}

function actionOperation(kind: KindDefinition, action: KindAction, make: (draft: Draft) => Node): Node {
  return make({
    verb: 'post',
    action: 'post',
    id: idOf(action.action.charAt(0).toLowerCase() + action.action.slice(1), { ...kind, kind: `Of${kind.kind}` }),
    summary: action.description,
    parameters: WRITE_HEADERS,
    requestBody: { required: false, content: { [JSON_TYPE]: { schema: schemaOf(action.input) } } },
    success: { [String(action.status)]: object(kind.kind, 'The object, with what is shown once.') },
  });
}
