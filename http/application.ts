/**
 * The Koa application that every request passes, and the order of its layers. Two ways lead around Koa:
 * - `hot.ts`, the read of one cached object: at 20,000 reads a second Koa's context would be a tenth of the answer;
 * - a request that asks to leave HTTP (`upgrade.ts`): Koa answers through Node's response, and such a connection has none
 *   of its own. It passes the same layers.
 */
import Router from '@koa/router';
import Koa from 'koa';
import { openAccessLog } from './access-log.js';
import type { ServerContext } from './server-context.js';
import { COLLECTION_ROUTES, openSubresources } from './subresources.js';
import { openDiscovery } from './discovery/serve.js';
import { exchangeOf, rememberExchange, type Exchange } from './exchange.js';
import { isApi, isHealth, mayLeave, noSuchPath, serveTarget, type HandleDeps } from './handle.js';
import {
  answerErrors,
  authenticate,
  countRequests,
  findTarget,
  refuseAmbiguous,
  refuseSpentAddresses,
  serveModelCalls,
  serveTools,
  type Layer,
  type Working,
} from './layers.js';
import { takeApiKey } from './inference/credential.js';
import { isInference } from './inference/serve.js';
import type { HttpMetrics } from './metrics.js';
import { methodNotAllowed } from './resources/dispatch.js';
import { fixedRoutes } from './routes/fixed.js';
import type { Targets } from './target.js';
import { isTool } from './tools/tool-address.js';

export interface Application {
  /** Every request but those of `hot.ts`. */
  serve(x: Exchange): void;
  /** One that asks to leave HTTP. */
  serveUpgrade(x: Exchange): void;
  /** Whether this path can be left for what `Upgrade` names (in lower case). */
  mayLeave(path: string, protocol: string): boolean;
}

export function openApplication(
  context: ServerContext,
  targets: Targets,
  metrics: HttpMetrics,
  working: Working,
): Application {
  const accessLog = context.config.accessLog ? openAccessLog(context.log) : undefined;
  const deps: HandleDeps = {
    ...{ context, targets, collectionRoutes: COLLECTION_ROUTES },
    subresources: openSubresources(context.kinds),
    discovery: openDiscovery(context),
  };
  /** Of every request. */
  const outer: readonly Layer[] = [
    countRequests(working, metrics, accessLog),
    answerErrors(context.log),
    refuseAmbiguous,
    serveModelCalls(context),
    serveTools(context),
  ];
  /** Of `/api` and `/apis`. */
  const api: readonly Layer[] = [findTarget(targets, context), authenticate(context), (x) => serveTarget(x, deps)];

  const app = new Koa();
  const throughOuter = stack(refuseSpentAddresses(context), ...outer);
  const throughApi = stack(...api);
  app.use((ctx, next) => {
    // Answers are ready-made bytes, which their handlers write; only the fixed routes answer in Koa's way.
    ctx.respond = false;
    ctx.res.statusCode = 200;
    return throughOuter(exchangeOf(ctx.res), next);
  });
  app.use(openFixedRoutes(context));
  app.use((ctx, next) => throughApi(exchangeOf(ctx.res), next));
  app.on('error', (error: unknown, ctx?: Koa.Context) => {
    // Only what broke while Koa wrote an answer is of interest; else the client has left.
    if (ctx?.respond === false) return;
    context.log.warn({ error: error instanceof Error ? error.name : typeof error }, 'an answer could not be written');
  });
  passOverUnusedParts(app);
  const serveKoa = app.callback();
  const throughAll = stack(...outer, ...api);
  return {
    serve(x) {
      if (isInference(x.path)) takeApiKey(x.req);
      rememberExchange(x);
      void serveKoa(x.req, x.res);
    },
    serveUpgrade: (x) => void throughAll(x, async () => undefined),
    mayLeave: (path, protocol) => isTool(path) || mayLeave(path, protocol, deps),
  };
}

/**
 * Koa listens to the end of each answer, for errors of a body that it pipes, and then completes the answer. Below `/api` and `/apis` it
 * has neither to do: to leave it out wins back half of what Koa costs a write.
 */
function passOverUnusedParts(app: Koa): void {
  type Handle = (ctx: Koa.Context, run: (ctx: Koa.Context) => Promise<void>) => Promise<void>;
  const parts = app as unknown as { handleRequest: Handle };
  const handleRequest = parts.handleRequest.bind(app);
  parts.handleRequest = (ctx, run) =>
    isApi(exchangeOf(ctx.res).path) ? run(ctx).catch((error: Error) => ctx.onerror(error)) : handleRequest(ctx, run);
}

/** Several layers as one, the first outermost. */
function stack(...layers: readonly Layer[]): Layer {
  return layers.reduceRight((inner, layer) => (x, next) => layer(x, () => inner(x, next)));
}

/** Everything outside of `/api` and `/apis`, by @koa/router. */
function openFixedRoutes(context: ServerContext): Koa.Middleware {
  const router = new Router();
  fixedRoutes(router, context);
  const serve = router.routes() as Koa.Middleware;
  return async (ctx, next) => {
    const x = exchangeOf(ctx.res);
    if (isApi(x.path)) return next();
    ctx.res.statusCode = 404;
    ctx.set('x-request-id', x.requestId);
    if (!isHealth(x.path) && !context.authenticator.wasKnown(x.header('authorization')))
      context.addresses.demand(x.from);
    await serve(ctx, async () => undefined);
    if (ctx.status === 404 && ctx.body === undefined) throw nothingThere(x, router);
    ctx.respond = true;
  };
}

/** A path without any route, or one that has routes for other methods. */
function nothingThere(x: Exchange, router: Router): Error {
  const routes = router.match(x.path, x.method).path.filter(({ methods }) => methods.length > 0);
  if (routes.length === 0) return noSuchPath(x);
  return methodNotAllowed(x, [...new Set(routes.flatMap(({ methods }) => methods))].toSorted());
}
