/** Chooses the handler of a request below `/api` and `/apis`, and says what a path without one answers. */
import { notActive } from './not-active.js';
import { refuse } from '../src/api/refusal.js';
import type { Caller } from '../actors/resource-service.js';
import type { Exchange } from './exchange.js';
import { checkQueryNames } from './query-names.js';
import { serveSubresource, serveCollection, serveObject } from './resources/dispatch.js';
import { refuseSubresource } from './routes/unbuilt.js';
import type { ServerContext } from './server-context.js';
import type { CollectionRouteTarget, SubresourceTarget, Targets } from './target.js';

type Serve<T> = (x: Exchange, context: ServerContext, caller: Caller, target: T) => Promise<void>;

export type ServeSubresource = Serve<SubresourceTarget>;

export type ServeCollectionRoute = Serve<CollectionRouteTarget>;

/** Routes beside the kinds, by name: `core/events`, `v1/blobs`. */
export type CollectionRoutes = ReadonlyMap<string, ServeCollectionRoute>;

/** Routes below objects, by plural and name: `jobs/logs`. */
export type Subresources = ReadonlyMap<
  string,
  {
    readonly serve: ServeSubresource;
    /** The protocol for which a connection may leave HTTP here; `*` stands for any. */
    readonly upgradesTo: 'websocket' | '*' | undefined;
  }
>;

export interface HandleDeps {
  readonly context: ServerContext;
  readonly targets: Targets;
  readonly collectionRoutes: CollectionRoutes;
  readonly subresources: Subresources;
  readonly discovery: (x: Exchange, segments: readonly string[]) => boolean;
}

export function isApi(path: string): boolean {
  return path.startsWith('/apis/') || path.startsWith('/api/') || path === '/api' || path === '/apis';
}

/** Asked for by what watches this process: outside of all bounds. */
export function isHealth(path: string): boolean {
  return path === '/livez' || path === '/readyz' || path === '/healthz';
}

export function noSuchPath(x: Exchange): Error {
  return refuse('NotFound', `the path ${x.path.slice(0, 256)} does not exist`, {
    fix: 'GET /apis lists the API groups, and /openapi.json every path.',
  });
}

/** Standby and drain: decided before anything is read or looked up. */
export function gate(x: Exchange, context: ServerContext): void {
  if (!context.health.active()) {
    throw notActive(context.health.missing());
  }
  // What is upgraded would stay longer than the service does.
  if (context.draining() && ((x.method !== 'GET' && x.method !== 'HEAD') || x.upgrade !== undefined)) {
    throw refuse('Unavailable', 'the service is shutting down and takes no new writes and upgrades', {
      retryAfterSeconds: 2,
    });
  }
}

/** Answers what `findTarget` has found for the caller whom `authenticate` has let in. */
export function serveTarget(x: Exchange, deps: HandleDeps): Promise<void> {
  const { context } = deps;
  const { target, caller } = x;
  if (target?.at === 'discovery' && deps.discovery(x, target.segments)) return Promise.resolve();
  if (target === undefined || target.at === 'discovery' || caller === undefined) throw noSuchPath(x);
  switch (target.at) {
    case 'collection':
      return serveCollection(x, context, caller, target);
    case 'object':
      return serveObject(x, context, caller, target);
    case 'below':
      return serveBelow(x, deps, caller, target);
    case 'extra': {
      const serve = deps.collectionRoutes.get(`${target.group}/${target.name}`);
      if (serve === undefined) throw noSuchPath(x);
      // kubectl reads core events as it reads kinds.
      if (x.hasQuery && target.group !== 'core') checkQueryNames(target.name, x.query, x.url);
      return serve(x, context, caller, target);
    }
  }
}

async function serveBelow(x: Exchange, deps: HandleDeps, caller: Caller, target: SubresourceTarget): Promise<void> {
  const { context } = deps;
  if (await serveSubresource(x, context, caller, target)) return;
  const found = deps.subresources.get(`${target.kind.plural}/${target.below}`);
  if (found !== undefined) {
    if (x.hasQuery) checkQueryNames(target.below, x.query, x.url);
    return found.serve(x, context, caller, target);
  }
  await refuseSubresource(x, context, caller, target);
  throw noSuchPath(x);
}

/** Whether this path can be left for what a client's `Upgrade` header names (in lower case). */
export function mayLeave(path: string, protocol: string, { targets, subresources }: HandleDeps): boolean {
  const target = targets.resolve(path);
  if (target?.at !== 'below') return false;
  const agreed = subresources.get(`${target.kind.plural}/${target.below}`)?.upgradesTo;
  return agreed === '*' || (agreed !== undefined && agreed === protocol);
}
