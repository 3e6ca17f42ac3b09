/**
 * Serves `/ops/v1`: what operators see and do. Every route needs `operator:*`, which only keys of the bootstrap org carry.
 * Bodies are read by koa-body: they are small, flat and JSON only. Its traps: it leaves `body` undefined without an error
 * for a missing or another content type (answered 415 here), and it reads an empty body as `{}` (the schema decides).
 */
import { notActive } from '../not-active.js';
import type { Router, RouterContext, RouterMiddleware } from '@koa/router';
import { z } from 'zod';
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../actors/resource-service.js';
import { BOOTSTRAP_ORG } from '../../src/api/access/role.js';
import { OPERATOR_SCOPE } from '../../src/api/access/scope.js';
import { refuse } from '../../src/api/refusal.js';
import { sha256 } from '../../src/api/sha256.js';
import { admit } from '../auth/admit.js';
import { requireScope } from '../auth/authorise.js';
import { exchangeOf } from '../exchange.js';
import { readInput } from '../input.js';
import { checkQueryNames } from '../query-names.js';
import type { ServerContext } from '../server-context.js';
import { checkIdempotencyKey } from '../resources/options.js';
import { mediaType } from '../resources/parse.js';
import { readLimit } from '../resources/versions.js';
import { ledgerMonthRoutes } from './ledger-months.js';
import { promoCodeRoutes } from './promo-codes.js';
import { topUpRefundRoutes } from './topup-refunds.js';

/** Loaded when the first body comes: it is a tenth of what a start loads, and few services ever need it. */
async function openReader(): Promise<RouterMiddleware> {
  const { koaBody } = await import('koa-body');
  return koaBody({ jsonLimit: '64kb', urlencoded: false, text: false, multipart: false, jsonStrict: true });
}

let reader: Promise<RouterMiddleware> | undefined;

const readJson: RouterMiddleware = async (ctx, next) => {
  // For its charset: the reader takes any for UTF-8.
  mediaType(exchangeOf(ctx.res), '');
  reader ??= openReader();
  return (await reader)(ctx, next);
};

const NewOrg = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a lower-case name of at most 63 characters'),
});
const Nothing = z.strictObject({});
const Admissions = z.strictObject({ paused: z.boolean() });

function bodyOf<T>(ctx: RouterContext, schema: z.ZodType<T>): T {
  const body: unknown = ctx.request.body;
  if (body === undefined) {
    throw refuse('UnsupportedMediaType', 'the body must be JSON', {
      fix: 'Send the header "Content-Type: application/json".',
    });
  }
  return readInput(schema, body);
}

/** Of a call that says everything in its path: a body that says more is refused. */
function checkNothing(ctx: RouterContext): void {
  if ((ctx.request.length ?? 0) > 0 || ctx.get('transfer-encoding') !== '') bodyOf(ctx, Nothing);
}

function parameter(ctx: RouterContext, name: string): string {
  return ctx.params[name] ?? '';
}

/** The Idempotency-Key of a request that is no write of one object; what `input` says makes it another request. */
function keyedBy(ctx: RouterContext, caller: Caller | undefined, input: object) {
  const key = ctx.get('idempotency-key');
  if (key === '' || caller === undefined) return undefined;
  checkIdempotencyKey(key);
  return { holder: caller.holder, key, fingerprint: sha256(`${ctx.method} ${ctx.path}\n${JSON.stringify(input)}`) };
}

const MAX_PAGE = 500;

function paging(ctx: RouterContext): { readonly limit: number; readonly after: string } {
  const query = new URLSearchParams(ctx.querystring);
  const limit = readLimit(query.get('limit')) ?? MAX_PAGE;
  return { limit: Math.min(limit, MAX_PAGE), after: query.get('continue') ?? '' };
}

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw refuse('NotFound', `${what} not found`);
  return value;
}

export function opsRoutes(router: Router, context: ServerContext): void {
  const { operators } = context;
  const callers = new WeakMap<IncomingMessage, Caller>();
  router.use('/ops/v1', async (ctx, next) => {
    if (!context.health.active()) throw notActive(context.health.missing());
    if (context.draining() && ctx.method !== 'GET') {
      throw refuse('Unavailable', 'the service is shutting down and takes no new writes', { retryAfterSeconds: 2 });
    }
    const caller = await admit(exchangeOf(ctx.res), context, ctx.req.headers.authorization);
    requireScope(caller, OPERATOR_SCOPE, '');
    // Postgres keeps no U+0000, so nothing is called so.
    if (/%00/.test(exchangeOf(ctx.res).path)) throw refuse('NotFound', 'a path with a null character names nothing');
    callers.set(ctx.req, caller);
    checkQueryNames(ctx.path.split('/')[3] ?? '', new URLSearchParams(ctx.querystring), ctx.querystring);
    await next();
  });

  router.get('/ops/v1/orgs', async (ctx) => {
    ctx.body = { items: await operators.orgs() };
  });
  router.post('/ops/v1/orgs', readJson, async (ctx) => {
    const { name } = bodyOf(ctx, NewOrg);
    const keyed = keyedBy(ctx, callers.get(ctx.req), { name });
    const release =
      keyed && context.inflightIdempotency.take(BOOTSTRAP_ORG, keyed.holder, keyed.key, keyed.fingerprint);
    const made = await operators.createOrg(name, keyed).finally(release);
    if (made.outcome === 'Taken') throw refuse('AlreadyExists', `the org "${name}" already exists`);
    if (made.replayed === true) ctx.set('idempotency-replayed', 'true');
    ctx.status = 201;
    ctx.set('cache-control', 'no-store');
    ctx.body = { org: made.org, name, key: made.key };
  });

  router.post('/ops/v1/orgs/:name/keys', readJson, async (ctx) => {
    const name = parameter(ctx, 'name');
    if (name === BOOTSTRAP_ORG && callers.get(ctx.req)?.expires !== undefined) throw wouldOutlive();
    const keyed = keyedBy(ctx, callers.get(ctx.req), bodyOf(ctx, Nothing));
    const release =
      keyed && context.inflightIdempotency.take(BOOTSTRAP_ORG, keyed.holder, keyed.key, keyed.fingerprint);
    const made = await operators.recoverOrg(name, keyed).finally(release);
    if (made.outcome === 'NotFound') throw refuse('NotFound', `org "${name.slice(0, 64)}" not found`);
    if (made.replayed === true) ctx.set('idempotency-replayed', 'true');
    ctx.status = 201;
    ctx.set('cache-control', 'no-store');
    ctx.body = { org: made.org, name, key: made.key };
  });

  router.get('/ops/v1/supervisors', async (ctx) => {
    ctx.body = { items: await operators.supervisors() };
  });
  router.get('/ops/v1/supervisors/:kind', async (ctx) => {
    const kind = parameter(ctx, 'kind');
    ctx.body = found(await operators.supervisors(kind), `supervisor "${kind.slice(0, 64)}"`);
  });
  router.get('/ops/v1/supervisors/:kind/parked', async (ctx) => {
    const kind = parameter(ctx, 'kind');
    const { limit, after } = paging(ctx);
    const page = found(await operators.parked(kind, limit, after), `supervisor "${kind.slice(0, 64)}"`);
    ctx.body = { items: page.items, metadata: page.next === undefined ? {} : { continue: page.next } };
  });
  router.post('/ops/v1/supervisors/:kind/restarts', readJson, async (ctx) => {
    const kind = parameter(ctx, 'kind');
    checkNothing(ctx);
    if (!(await operators.restartSupervisor(kind)))
      throw refuse('NotFound', `supervisor "${kind.slice(0, 64)}" not found`);
    ctx.status = 202;
    ctx.body = { kind, restarted: true };
  });

  router.get('/ops/v1/actors/:uid', async (ctx) => {
    const uid = parameter(ctx, 'uid');
    ctx.body = found(await operators.actor(uid), `actor "${uid.slice(0, 64)}"`);
  });
  router.post('/ops/v1/actors/:uid/restarts', readJson, async (ctx) => {
    const uid = parameter(ctx, 'uid');
    checkNothing(ctx);
    if (!(await operators.restartActor(uid))) throw refuse('NotFound', `actor "${uid.slice(0, 64)}" not found`);
    ctx.status = 202;
    ctx.body = { uid, restarted: true };
  });

  router.get('/ops/v1/admissions', async (ctx) => {
    ctx.body = await operators.admissions();
  });
  router.post('/ops/v1/admissions', readJson, async (ctx) => {
    ctx.body = await operators.admissions(bodyOf(ctx, Admissions).paused);
  });

  router.get('/ops/v1/ledger', (ctx) => {
    ctx.body = operators.ledger.state();
  });
  router.post('/ops/v1/ledger/audits', readJson, (ctx) => {
    checkNothing(ctx);
    operators.ledger.request();
    ctx.status = 202;
    ctx.body = operators.ledger.state();
  });
  ledgerMonthRoutes(router, context);
  const callerOf = (ctx: RouterContext): Caller | undefined => callers.get(ctx.req);
  const tools = { readJson, bodyOf, callerOf, keyedBy, paging };
  promoCodeRoutes(router, context, tools);
  topUpRefundRoutes(router, context, tools);
}

/** The operators' own org: the key would end later than the one that it was made with. */
function wouldOutlive(): Error {
  return refuse('Forbidden', 'a credential that ends makes no Owner key of its own org, which would not end', {
    fix: 'Use a key without expirationTime.',
  });
}
