/** Serves `…/files/archive` of running objects: a directory as a tar, and a tar into a directory. Source: decisions, "Routes not shown". */
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import type { FilePlace } from '../../actors/work/files/open.js';
import type { Exchange } from '../exchange.js';
import { replyJson } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { Outflow } from '../stream.js';
import { takeBody } from './upload.js';

const TAR = 'application/x-tar';
/** What a tar may be sent as. */
const TAR_TYPES: ReadonlySet<string> = new Set([TAR, 'application/tar', 'application/octet-stream', '']);

export async function serveArchive(
  x: Exchange,
  context: ServerContext,
  place: FilePlace,
  allows: (caller: Caller) => boolean,
): Promise<void> {
  if (x.method === 'GET') return send(x, context, place, allows);
  const type = (x.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (!TAR_TYPES.has(type)) throw refuse('UnsupportedMediaType', `an archive is sent as ${TAR}, uncompressed`);
  await takeBody(x, context, allows, async (body) => {
    const { files } = await context.files.unpack(place, body, x.gone);
    replyJson(x, 200, { path: place.path, files });
  });
}

async function send(
  x: Exchange,
  context: ServerContext,
  place: FilePlace,
  allows: (caller: Caller) => boolean,
): Promise<void> {
  const { res } = x;
  const release = context.streams.add(x, { allows, end: () => res.destroy() });
  try {
    await context.files.pack(
      place,
      async (archive) => {
        const out = new Outflow(res);
        for await (const part of archive) {
          if (out.closed) return;
          // Not before there is something: what is missing can still be told.
          if (!res.headersSent) {
            res.writeHead(200, {
              'content-type': TAR,
              'cache-control': 'no-cache, private',
              'x-content-type-options': 'nosniff',
              'x-request-id': x.requestId,
            });
          }
          if (!out.write(Buffer.from(part.buffer, part.byteOffset, part.byteLength))) await out.drained();
        }
        if (!out.closed) res.end();
      },
      x.gone,
    );
  } catch (error) {
    if (!x.abandoned) throw error;
  } finally {
    release();
  }
}
