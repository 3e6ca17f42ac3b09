/**
 * Owns the long way of a request below `/api` and `/apis`: gate, target, caller, handler. Everything that fails is thrown
 * to the one funnel.
 */
import { notActive } from './not-active.js';
import { refuse } from '../src/api/refusal.js';
import type { Caller } from '../actors/resource-service.js';
import { admit } from './auth/admit.js';
import { extractCredential } from './auth/extract-credential.js';
import type { Exchange } from './exchange.js';
import { checkQueryNames } from './query-names.js';
import { serveBelow, serveCollection, serveObject } from './resources/dispatch.js';
import { refuseBelow } from './routes/unbuilt.js';
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

export async function handle(x: Exchange, deps: HandleDeps): Promise<void> {
  const { context, targets } = deps;
  if (context.config.limits.stalledSeconds !== undefined) x.stallMs = context.config.limits.stalledSeconds * 1_000;
  const target = targets.resolve(x.path);
  if (target === undefined) {
    gate(x, context);
    // A path that does not exist is told to anybody who has a key; without one the answer is Unauthorized.
    await admit(x, context, x.req.headers.authorization);
    throw noSuchPath(x);
  }
  if (target.at === 'discovery') {
    x.verb = 'discovery';
    x.resource = 'discovery';
    if (!context.authenticator.wasKnown(x.req.headers.authorization)) context.addresses.demand(x.from);
    if (!deps.discovery(x, target.segments)) throw noSuchPath(x);
    return;
  }
  x.resource = target.at === 'extra' ? target.name : target.kind.plural;
  gate(x, context);
  const caller = await admit(x, context, extractCredential(x.req, x.upgrade !== undefined));
  switch (target.at) {
    case 'collection':
      return serveCollection(x, context, caller, target);
    case 'object':
      return serveObject(x, context, caller, target);
    case 'below': {
      if (await serveBelow(x, context, caller, target)) return;
      const found = deps.subresources.get(`${target.kind.plural}/${target.below}`);
      if (found !== undefined) {
        if (x.hasQuery) checkQueryNames(target.below, x.query);
        return found.serve(x, context, caller, target);
      }
      await refuseBelow(x, context, caller, target);
      throw noSuchPath(x);
    }
    case 'extra': {
      const serve = deps.collectionRoutes.get(`${target.group}/${target.name}`);
      if (serve === undefined) throw noSuchPath(x);
      // kubectl reads core events as it reads kinds.
      if (x.hasQuery && target.group !== 'core') checkQueryNames(target.name, x.query);
      return serve(x, context, caller, target);
    }
  }
}

/** Whether this path can be left for what a client's `Upgrade` header names (in lower case). */
export function mayLeave(path: string, protocol: string, { targets, subresources }: HandleDeps): boolean {
  const target = targets.resolve(path);
  if (target?.at !== 'below') return false;
  const agreed = subresources.get(`${target.kind.plural}/${target.below}`)?.upgradesTo;
  return agreed === '*' || (agreed !== undefined && agreed === protocol);
}
