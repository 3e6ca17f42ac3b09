/** Serves `…/outputs[/{output}]`: the list of the collected outputs, of all indexes or of one, and the download of one. */
import { decodeObject } from '../../src/api/encode.js';
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import { addressOf, stillMay } from '../auth/authorise.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { sendLongJson } from '../long-json.js';
import { replyJson } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readBytes } from '../resources/read.js';
import type { ServerContext } from '../server-context.js';
import { readIndex, readLogRequest } from './logs.js';
import { sendBytes } from './transfer.js';

/** As the spec has it: `^[a-z0-9._-]{1,64}$`. */
const OUTPUT_NAME = /^[a-z0-9._-]{1,64}$/;
/** Of so many indexes the list is answered at once. */
const FEW_INDEXES = 64;
/** Of a long list, in one slice of the event loop. */
const ENTRIES_AT_ONCE = 128;

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
    const isLong = only === undefined && indexes > FEW_INDEXES;
    const read = () => context.outputs.list(address, uid, only, x.gone);
    return sendList(x, context, address.org, { isLong, read }).finally(unfollow);
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

/** A Job has up to 10,000 indexes: their outputs are read by who has a place (I10), and written as the client takes them. */
async function sendList(
  x: Exchange,
  { answerPlaces, resources }: ServerContext,
  org: string,
  { isLong, read }: { readonly isLong: boolean; read(): AsyncIterable<readonly object[]> },
): Promise<void> {
  if (!isLong) return replyJson(x, 200, { items: await allOf(read()) });
  const place = await answerPlaces.take(org, x.gone);
  let entries: readonly object[];
  try {
    entries = await allOf(read());
  } catch (error) {
    place.free();
    throw error;
  }
  await sendLongJson(x, { place, pieces: piecesOf(entries), nextSlice: () => resources.slice(org) });
}

async function allOf(batches: AsyncIterable<readonly object[]>): Promise<readonly object[]> {
  const all: object[] = [];
  for await (const batch of batches) for (const entry of batch) all.push(entry);
  return all;
}

function* piecesOf(entries: readonly object[]): Generator<string> {
  yield '{"items":[';
  for (let at = 0; at < entries.length; at += ENTRIES_AT_ONCE) {
    const some = entries.slice(at, at + ENTRIES_AT_ONCE).map((entry) => JSON.stringify(entry));
    yield (at === 0 ? '' : ',') + some.join(',');
  }
  yield ']}';
}
