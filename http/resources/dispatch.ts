/**
 * Which handler serves which target and method of the generic resource routes, and the answers for methods that a
 * target does not have. Sets the words for metrics.
 */
import { refuse } from '../../src/api/refusal.js';
import { deletesCollections } from '../../src/kinds/declare.js';
import type { KindDefinition, Operation } from '../../src/kinds/kind.js';
import type { Caller } from '../../actors/resource-service.js';
import { catalogIsReadOnly, isCatalog, isProjectKind } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import { checkQueryNames, checkSpelling } from '../query-names.js';
import type { ServerContext } from '../server-context.js';
import type { Target } from '../target.js';
import { callAction } from './action.js';
import { createObject } from './create.js';
import { deleteObject } from './delete.js';
import { deleteCollection } from './deletecollection.js';
import { listObjects } from './list.js';
import { patchObject } from './patch.js';
import { readObject } from './read.js';
import { replaceObject } from './replace.js';
import { checkTimeout, readBoolean } from './versions.js';
import { watchObjects } from '../watch/watch.js';

type CollectionTarget = Extract<Target, { at: 'collection' }>;
type ObjectTarget = Extract<Target, { at: 'object' }>;
type BelowTarget = Extract<Target, { at: 'below' }>;

export function methodNotAllowed(x: Exchange, allowed: readonly string[], why = ''): Error {
  x.res.setHeader('allow', allowed.join(', '));
  const fix =
    allowed.length === 0 ? 'See the OpenAPI document for what this path supports.' : `Use ${allowed.join(', ')}.`;
  return refuse('MethodNotAllowed', `${x.method} is not supported on ${x.path.slice(0, 256)}${why}`, { fix });
}

type Methods = readonly (readonly [string, Operation])[];

const IN_EVERY_PROJECT: Methods = [['GET', 'list']];
const ONE_BY_ONE: Methods = [
  ['GET', 'list'],
  ['POST', 'create'],
];
const IN_ONE_PLACE: Methods = [...ONE_BY_ONE, ['DELETE', 'delete']];
const OF_AN_OBJECT: Methods = [
  ['GET', 'read'],
  ['PUT', 'replace'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
];

/** Refuses a method that the kind has no operation for, and every write into the catalog. */
function checkMethod(x: Exchange, kind: KindDefinition, project: string, methods: Methods): void {
  if (x.method !== 'GET' && isCatalog(kind, project)) {
    x.res.setHeader('allow', 'GET');
    throw catalogIsReadOnly();
  }
  for (const [method, operation] of methods) if (method === x.method && kind.operations.has(operation)) return;
  throw methodNotAllowed(
    x,
    methods.filter(([, operation]) => kind.operations.has(operation)).map(([method]) => method),
    methods === OF_AN_OBJECT && isFinal(kind) ? `: a ${kind.kind} is never changed or deleted` : '',
  );
}

/** Clients may make it, and then it stays as it is. */
function isFinal({ operations }: KindDefinition): boolean {
  return operations.has('create') && !operations.has('patch') && !operations.has('delete');
}

function checkVerbQuery(query: URLSearchParams): void {
  checkSpelling(query);
  checkTimeout(query);
}

export function serveCollection(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: CollectionTarget,
): Promise<void> {
  const { kind, project } = target;
  const inPlace = kind.scope === 'org' || project !== undefined;
  const methods = deletesCollections(kind) ? IN_ONE_PLACE : ONE_BY_ONE;
  checkMethod(x, kind, project ?? '', inPlace ? methods : IN_EVERY_PROJECT);
  if (x.hasQuery) checkVerbQuery(x.query);
  switch (x.method) {
    case 'GET':
      if (x.hasQuery && readBoolean(x.query, 'watch') === true) {
        x.verb = 'watch';
        return watchObjects(x, context, caller, kind, project);
      }
      x.verb = 'list';
      return listObjects(x, context, caller, kind, project);
    case 'POST':
      x.verb = 'create';
      return createObject(x, context, caller, kind, project ?? '');
    default:
      x.verb = 'deletecollection';
      return deleteCollection(x, context, caller, kind, project);
  }
}

export function serveObject(x: Exchange, context: ServerContext, caller: Caller, target: ObjectTarget): Promise<void> {
  const { kind, project, name } = target;
  checkMethod(x, kind, isProjectKind(kind) ? name : project, OF_AN_OBJECT);
  if (x.hasQuery) checkVerbQuery(x.query);
  switch (x.method) {
    case 'GET':
      x.verb = 'get';
      return readObject(x, context, caller, kind, project, name);
    case 'PUT':
      x.verb = 'replace';
      return replaceObject(x, context, caller, kind, project, name);
    case 'PATCH':
      x.verb = 'patch';
      return patchObject(x, context, caller, kind, project, name);
    default:
      x.verb = 'delete';
      return deleteObject(x, context, caller, kind, project, name);
  }
}

/** `…/{name}/status` and the kind's actions; false when nothing of that name is below objects of this kind. */
export async function serveSubresource(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: BelowTarget,
): Promise<boolean> {
  const { kind, project, name, below, rest } = target;
  if (rest.length > 0) return false;
  if (below === 'status' && kind.operations.has('readStatus')) {
    // The service alone writes status (spec, "Conventions" 1).
    if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
    if (x.hasQuery) checkVerbQuery(x.query);
    x.verb = 'get';
    await readObject(x, context, caller, kind, project, name);
    return true;
  }
  const action = kind.actions?.find((candidate) => candidate.path === below);
  if (action === undefined) return false;
  if (x.method !== 'POST') throw methodNotAllowed(x, ['POST']);
  x.verb = 'action';
  if (x.hasQuery) {
    checkQueryNames('actions', x.query, x.url);
    checkTimeout(x.query);
  }
  await callAction(x, context, caller, kind, project, name, action);
  return true;
}
