/**
 * Serves `…/files` of running objects: bytes with ranges and an ETag that is their SHA-256, entries of a directory, uploads
 * by stream, deletes. How they get in and out is `Files`' matter (`actors/work/files`).
 *
 * Each request is a stream of its own: a slow client slows the program inside that reads or writes, and nobody else (I10). An
 * answer that has begun and cannot be ended as it was told of is cut, never ended as if it were whole.
 * Source: decisions, "Routes not shown", Files.
 */
import { Readable } from 'node:stream';
import { refuse } from '../../src/api/refusal.js';
import { isUpload } from '../../src/engines/compute/shared/upload-names.js';
import { rfc3339 } from '../../src/api/time.js';
import type { FilePlace, WriteOrder } from '../../actors/work/files/open.js';
import type { Caller } from '../../actors/resource-service.js';
import { tagsOf } from '../conditional.js';
import { addressOf, stillMay } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { refuseIdempotencyKey } from '../resources/options.js';
import { readFlag } from '../resources/versions.js';
import { replyJson } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import { serveArchive } from './archives.js';
import { sendDirectory } from './directory.js';
import { readEpoch, readWait } from './epoch.js';
import { answerBytes } from './transfer.js';
import { takeBody } from './upload.js';

type Allows = (caller: Caller) => boolean;

/** The kernel's own bound of a path. */
const PATH_BYTES = 4_096;

export async function serveFiles(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name, rest } = target;
  const [below, ...more] = rest;
  if (more.length > 0 || (below !== undefined && below !== 'archive')) {
    throw refuse('NotFound', 'files has no such subpath; the only one is files/archive');
  }
  const methods = below === 'archive' ? ['GET', 'POST'] : ['GET', 'HEAD', 'PUT', 'DELETE'];
  if (!methods.includes(x.method)) throw methodNotAllowed(x, methods);
  x.verb = 'transfer';
  const owner = addressOf(caller, kind, project, name, 'exec');
  const place: FilePlace = { owner, path: readPath(x), epoch: readEpoch(x), waitMs: readWait(x) };
  const allows = stillMay(kind, project, name, 'exec');
  if (below === 'archive') return serveArchive(x, context, place, allows);
  switch (x.method) {
    case 'PUT':
      return upload(x, context, place, allows);
    case 'DELETE':
      return remove(x, context, place, allows);
    default:
      return readFlag(x.query, 'list') === true
        ? sendDirectory(x, context, place, allows)
        : download(x, context, place, allows);
  }
}

function readPath(x: Exchange): string {
  const path = x.query.get('path') ?? '';
  const wrong = !path.startsWith('/')
    ? 'must be an absolute path'
    : path.includes('\0')
      ? 'must not hold NUL'
      : Buffer.byteLength(path) >= PATH_BYTES
        ? `must be shorter than ${PATH_BYTES} bytes`
        : x.method === 'PUT' && path.split('/').some(isUpload)
          ? 'must not have the name of an unfinished upload (.svc-upload-…): files of such a name are neither listed nor kept'
          : undefined;
  if (wrong === undefined) return path;
  throw refuse('BadRequest', `path ${wrong}`, {
    causes: [{ field: 'path', reason: 'FieldValueInvalid', message: wrong }],
  });
}

async function download(x: Exchange, context: ServerContext, place: FilePlace, allows: Allows): Promise<void> {
  const release = context.streams.add(x, { allows, end: () => x.res.destroy() });
  try {
    await context.files.read(
      place,
      async (file) =>
        answerBytes(x, {
          size: file.size,
          sha256: file.sha256,
          headers: {
            'cache-control': 'no-cache, private',
            'last-modified': new Date(file.modified).toUTCString(),
            'x-file-mode': file.mode,
          },
          open: async (range) => Readable.from(file.read(range), { objectMode: false, highWaterMark: 256 * 1024 }),
        }),
      x.gone,
    );
  } finally {
    release();
  }
}

async function upload(x: Exchange, context: ServerContext, place: FilePlace, allows: Allows): Promise<void> {
  const mode = x.query.get('mode') ?? undefined;
  if (mode !== undefined && !/^[0-7]{3,4}$/.test(mode)) {
    throw refuse('BadRequest', 'mode must be three or four octal digits', {
      causes: [{ field: 'mode', reason: 'FieldValueInvalid', message: 'must be three or four octal digits' }],
    });
  }
  const sha256 = x.header('x-content-sha256')?.toLowerCase();
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256)) {
    throw refuse('BadRequest', 'X-Content-SHA256 must be 64 hexadecimal digits');
  }
  await takeBody(x, context, allows, async (body, length) => {
    const written = await context.files.write(place, { mode, sha256, length, ...conditionsOf(x) }, body, x.gone);
    replyJson(x, 200, {
      path: place.path,
      type: 'File',
      size: written.size,
      sha256: written.sha256,
      mode: written.mode,
      modifiedTime: rfc3339(written.modified),
    });
  });
}

function conditionsOf(x: Exchange): Pick<WriteOrder, 'ifMatch' | 'ifNoneMatch'> {
  return { ifMatch: tagsOf(x.header('if-match'), false), ifNoneMatch: tagsOf(x.header('if-none-match'), true) };
}

async function remove(x: Exchange, context: ServerContext, place: FilePlace, allows: Allows): Promise<void> {
  refuseIdempotencyKey(
    x,
    'a deletion of files takes no Idempotency-Key: sent again, it deletes what is there then',
    'Send If-Match with the ETag of the file instead.',
  );
  const release = context.streams.add(x, { allows, end: () => undefined });
  try {
    await context.files.remove(place, conditionsOf(x), x.gone);
    replyJson(x, 200, { path: place.path });
  } finally {
    release();
  }
}
