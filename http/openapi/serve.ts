/**
 * Owns answering `/openapi.json` and `/openapi/v3[/…]`. Documents depend on the program alone: each is made once, on its
 * first request, and then is a Buffer with its hash as ETag (the index names it, and kubectl caches by it for ever).
 */
import { createHash } from 'node:crypto';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { refuse } from '../../src/api/refusal.js';
import { versionsOf } from '../discovery/legacy.js';
import type { Room } from '../room.js';
import { groupVersionDocument, wholeDocument, type DocumentFacts } from './document.js';
import type { Node } from './schema.js';

interface Made {
  readonly body: Buffer;
  readonly hash: string;
}

function lazily(make: () => Node): () => Made {
  let made: Made | undefined;
  return () => {
    if (made === undefined) {
      const body = Buffer.from(JSON.stringify(make()));
      made = { body, hash: createHash('sha256').update(body).digest('hex').toUpperCase() };
    }
    return made;
  };
}

function answer(ctx: Context, { body, hash }: Made): void {
  ctx.set('etag', `"${hash}"`);
  ctx.set('vary', 'Accept');
  ctx.set('cache-control', 'public, max-age=0, must-revalidate');
  ctx.type = 'application/json';
  if (ctx.get('if-none-match') === `"${hash}"`) {
    ctx.status = 304;
    return;
  }
  ctx.body = body;
}

export function openapiRoutes(router: Router, room: Room): void {
  const { group, productVersion } = room.config;
  const facts: DocumentFacts = { title: 'Troupe', version: productVersion.replace(/^v/, ''), group, kinds: room.kinds };
  const whole = lazily(() => wholeDocument(facts));
  const parts = new Map<string, () => Made>([
    ['api/v1', lazily(() => groupVersionDocument(facts, 'core', 'v1'))],
    ...versionsOf(room.kinds).map(
      (version) => [`apis/${group}/${version}`, lazily(() => groupVersionDocument(facts, 'api', version))] as const,
    ),
  ]);

  router.get('openapi', '/openapi.json', (ctx) => answer(ctx, whole()));
  router.get('openapi-index', '/openapi/v3', (ctx) => {
    const paths = [...parts].map(([name, made]) => [
      name,
      { serverRelativeURL: `/openapi/v3/${name}?hash=${made().hash}` },
    ]);
    ctx.body = { paths: Object.fromEntries(paths) as unknown };
  });
  router.get('openapi-part', '/openapi/v3/*part', (ctx) => {
    const name = ctx.path.slice('/openapi/v3/'.length);
    const made = parts.get(name);
    if (made === undefined) throw refuse('NotFound', `there is no OpenAPI document for ${name.slice(0, 128)}`);
    answer(ctx, made());
  });
}
