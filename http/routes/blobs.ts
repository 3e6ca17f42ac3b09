/** `…/namespaces/{ns}/blobs`: upload by stream, ask, download. A project reads what was put into it or collected from its work. */
import { CATALOG_PROJECT } from '../../src/brand.js';
import { decodeObject } from '../../src/api/encode.js';
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import { catalogIsReadOnly, requireScope } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { CollectionRouteTarget } from '../target.js';
import { replyJson } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { refuseIdempotencyKey } from '../resources/options.js';
import type { ServerContext } from '../server-context.js';
import { sendBytes } from './transfer.js';

const READ = 'blobs:read';
const WRITE = 'blobs:write';
/** An upload that brings nothing for this long is cut, ms. It may take as long as it likes otherwise. */
const IDLE_MS = 60_000;

export async function serveBlobs(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: CollectionRouteTarget,
): Promise<void> {
  const [digest, ...rest] = target.rest;
  const { project } = target;
  if (project === undefined || rest.length > 0)
    throw refuse('NotFound', 'blobs are stored in a project: …/namespaces/{project}/blobs');
  if (digest === undefined) {
    if (x.method !== 'POST') throw methodNotAllowed(x, ['POST']);
    return upload(x, context, caller, project);
  }
  if (x.method !== 'GET' && x.method !== 'HEAD') throw methodNotAllowed(x, ['GET', 'HEAD']);
  x.verb = x.method === 'HEAD' ? 'get' : 'transfer';
  requireScope(caller, READ, project);
  const found = await context.blobs.head(caller.org, digest, project);
  if (found === undefined) throw notFound(digest);
  return sendBytes(x, context, {
    size: found.size,
    sha256: found.digest.replace(/^sha256:/, ''),
    headers: {},
    allows: (asked) => asked.may(READ, project),
    async open(range) {
      const blob = await context.blobs.get(caller.org, digest, range, project);
      if (blob === undefined) throw notFound(digest);
      return blob.stream;
    },
  });
}

function notFound(digest: string): Error {
  return refuse('NotFound', `blob "${digest.slice(0, 80)}" not found`);
}

/** As a create of an object in the project is refused. */
async function requireProject(x: Exchange, context: ServerContext, org: string, project: string): Promise<void> {
  const body = await context.resources.read({ org, kind: 'Namespace', project: '', name: project }, x.gone);
  if (body === undefined) {
    throw refuse('NotFound', `project "${project}" does not exist`, {
      fix: `Create it first: POST /api/v1/namespaces {"metadata":{"name":"${project}"}}`,
      target: { kind: 'Namespace', name: project },
    });
  }
  if (decodeObject(body).metadata.deletionTimestamp === undefined) return;
  throw refuse('Forbidden', `project "${project}" is being deleted`);
}

async function upload(x: Exchange, context: ServerContext, caller: Caller, project: string): Promise<void> {
  x.verb = 'transfer';
  if (project === CATALOG_PROJECT) throw catalogIsReadOnly();
  requireScope(caller, WRITE, project);
  await requireProject(x, context, caller.org, project);
  refuseIdempotencyKey(x, 'a streamed body takes no Idempotency-Key: a blob is its own key and can be sent again');
  if (x.header('content-encoding') !== undefined) {
    throw refuse('UnsupportedMediaType', 'content-encoding is not supported: the bytes are stored as they are sent');
  }
  const release = context.streams.add(x, { allows: (asked) => asked.may(WRITE, project), end: () => undefined });
  x.req.setTimeout(IDLE_MS, () => x.req.destroy());
  try {
    const made = await context.blobs.put(caller.org, x.req, {
      sha256: x.header('x-content-sha256'),
      project,
      // The org's quota is the bound.
      limit: Number.MAX_SAFE_INTEGER,
      signal: x.gone,
    });
    replyJson(x, made.outcome === 'Created' ? 201 : 200, { digest: made.digest, size: made.size });
  } catch (error) {
    // What is left of the body is not read: the connection ends with the answer.
    if (!x.res.headersSent) x.res.setHeader('connection', 'close');
    throw error;
  } finally {
    release();
  }
}
