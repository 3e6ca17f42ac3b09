/**
 * Answers `/openapi.json` and `/openapi/v3[/…]`. Documents depend on the program alone: each is made once, on its
 * first request, and then is a Buffer with its hash as ETag (the index names it, and kubectl caches by it for ever).
 * The making takes tenths of a second, a few ms at a time, so that nobody else's request waits for it.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip as gzipWhole } from 'node:zlib';
import { setImmediate as turn } from 'node:timers/promises';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { isHeldAlready } from '../conditional.js';
import { refuse } from '../../src/api/refusal.js';
import { acceptsGzip } from '../accept-encoding.js';
import { versionsOf } from '../discovery/legacy.js';
import type { ServerContext } from '../server-context.js';
import { makingGroupVersion, makingWhole, type DocumentFacts, type Making } from './document.js';

interface Made {
  readonly body: Buffer;
  readonly hash: string;
  /** Compressed when it is first asked for. */
  packed(): Promise<Buffer>;
}

const compress = promisify<Buffer, Buffer>(gzipWhole);

/** Requests that come while it is made wait for the same one. */
function lazily(begin: () => Making): () => Promise<Made> {
  let made: Promise<Made> | undefined;
  return () => (made ??= make(begin()));
}

async function make(under: Making): Promise<Made> {
  for (;;) {
    const step = under.next();
    if (step.done === true) {
      const body = Buffer.from(JSON.stringify(step.value));
      let packed: Promise<Buffer> | undefined;
      return {
        body,
        hash: createHash('sha256').update(body).digest('hex').toUpperCase(),
        packed: () => (packed ??= compress(body)),
      };
    }
    await turn();
  }
}

/** A year, in seconds: an address that names the hash of what it answers never answers anything else. */
const FOR_EVER = 31_536_000;

async function answer(ctx: Context, { body, hash, packed }: Made): Promise<void> {
  const gzip = acceptsGzip(ctx.req.headers['accept-encoding']);
  const named = new URLSearchParams(ctx.querystring).get('hash') === hash;
  // Compressed, it is the same document and not the same bytes.
  ctx.set('etag', `${gzip ? 'W/' : ''}"${hash}"`);
  ctx.set('vary', 'Accept, Accept-Encoding');
  ctx.set('cache-control', named ? `public, max-age=${FOR_EVER}, immutable` : 'public, max-age=0, must-revalidate');
  ctx.type = 'application/json';
  // Koa's own `fresh` gives in to `no-cache`, which fetch adds.
  if (isHeldAlready(ctx.get('if-none-match'), hash)) {
    ctx.status = 304;
    return;
  }
  if (gzip) ctx.set('content-encoding', 'gzip');
  ctx.body = gzip ? await packed() : body;
}

export function openapiRoutes(router: Router, context: ServerContext): void {
  const { group, productVersion } = context.config;
  const facts: DocumentFacts = {
    title: 'Troupe',
    version: productVersion.replace(/^v/, ''),
    group,
    kinds: context.kinds,
  };
  const whole = lazily(() => makingWhole(facts));
  const parts = new Map<string, () => Promise<Made>>([
    ['api/v1', lazily(() => makingGroupVersion(facts, 'core', 'v1'))],
    ...versionsOf(context.kinds).map(
      (version) => [`apis/${group}/${version}`, lazily(() => makingGroupVersion(facts, 'api', version))] as const,
    ),
  ]);

  router.get('openapi', '/openapi.json', async (ctx) => answer(ctx, await whole()));
  router.get('openapi-index', '/openapi/v3', async (ctx) => {
    const paths: Record<string, { readonly serverRelativeURL: string }> = {};
    for (const [name, made] of parts) {
      paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${(await made()).hash}` };
    }
    ctx.body = { paths };
  });
  // kubectl asks here for a kind that it does not find. From an empty answer it says so; from 404, that it could not ask.
  router.get('openapi-v2', '/openapi/v2', (ctx) => {
    ctx.type = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
    ctx.body = Buffer.alloc(0);
    ctx.status = 200;
  });
  router.get('openapi-part', '/openapi/v3/*part', async (ctx) => {
    const name = ctx.path.slice('/openapi/v3/'.length);
    const made = parts.get(name);
    if (made === undefined) throw refuse('NotFound', `no OpenAPI document for ${name.slice(0, 128)}`);
    await answer(ctx, await made());
  });
}
