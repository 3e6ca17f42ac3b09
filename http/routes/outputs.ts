/** Serves `…/outputs[/{output}]`: the list of the collected outputs, of all indexes or of one, streamed, and the download of one. */
import { decodeObject } from '../../src/api/encode.js';
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf, stillMay } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { JSON_TYPE } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readBytes } from '../resources/read.js';
import type { ServerContext } from '../server-context.js';
import { Outflow } from '../stream.js';
import { readIndex, readLogRequest } from './logs.js';
import { sendBytes } from './transfer.js';

/** As the spec has it: `^[a-z0-9._-]{1,64}$`. */
const OUTPUT_NAME = /^[a-z0-9._-]{1,64}$/;

export async function serveOutputs(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name } = target;
  const [output, ...rest] = target.rest;
  if (rest.length > 0) throw refuse('NotFound', 'an output has no subpaths');
  if (x.method !== 'GET' && !(x.method === 'HEAD' && output !== undefined)) throw methodNotAllowed(x, ['GET']);
  const address = addressOf(caller, kind, project, name, 'read');
  const owner = decodeObject(await readBytes(context, kind, address));
  const { uid } = owner.metadata;
  const indexes = kind.indexes?.(owner) ?? 1;
  if (output === undefined) {
    x.verb = 'list';
    const only = readIndex(x, indexes);
    const unfollow = context.revocation.follow(x, { allows: stillMay(kind, project, name, 'read') });
    return streamList(x, context.outputs.list(address, uid, only, x.gone)).finally(unfollow);
  }
  x.verb = 'transfer';
  const { index } = readLogRequest(x, indexes, context.clock());
  const entry = OUTPUT_NAME.test(output) ? await context.outputs.find(address, uid, output, index, x.gone) : undefined;
  if (entry === undefined || entry.error !== undefined) {
    const why = entry?.error === undefined ? '' : `: ${entry.error}`;
    throw refuse(
      'OutputNotFound',
      `${kind.kind} "${name}" has no output "${output.slice(0, 64)}" of index ${index}${why}`,
    );
  }
  const file = `${entry.name}${entry.directory === true ? '.tar.zst' : ''}`;
  return sendBytes(x, context, {
    size: entry.size,
    sha256: entry.sha256.replace(/^sha256:/, ''),
    allows: stillMay(kind, project, name, 'read'),
    headers: { 'content-disposition': `attachment; filename="${file}"` },
    async open(range) {
      const blob = await context.blobs.get(address.org, entry.sha256, range);
      if (blob === undefined) throw refuse('OutputNotFound', `the bytes of output "${output}" are gone`);
      return blob.stream;
    },
  });
}

async function streamList(x: Exchange, batches: AsyncIterable<readonly object[]>): Promise<void> {
  const out = new Outflow(x.res);
  let begun = false;
  for await (const batch of batches) {
    if (out.closed) return;
    if (batch.length === 0) continue;
    const text = batch.map((entry) => JSON.stringify(entry)).join(',');
    if (!begun) head(x);
    if (!out.write(begun ? `,${text}` : `{"items":[${text}`)) await out.drained();
    begun = true;
  }
  if (out.closed) return;
  if (!begun) head(x);
  x.res.end(begun ? ']}' : '{"items":[]}');
}

function head(x: Exchange): void {
  x.res.writeHead(200, {
    'content-type': JSON_TYPE,
    'cache-control': 'no-cache, private',
    'x-request-id': x.requestId,
  });
}
