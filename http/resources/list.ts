/**
 * Owns answering a list. A whole list is streamed and never built; a page is at most 1000 objects and
 * PAGE_BYTES, so it is built and sent with its length. Metadata of a page stands behind its items, because whether there
 * is more is known only then.
 */
import { decodeObject } from '../../src/api/encode.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller, ListPage } from '../../actors/stage.js';
import type { Exchange } from '../exchange.js';
import { JSON_TYPE, reply } from '../reply.js';
import type { Room } from '../room.js';
import type { Rendering } from '../table/rendering.js';
import { writeContinue } from './continue.js';
import { matching, openPage, readListRequest } from './listing.js';
import type { Scan } from './range.js';
import { streamList } from './stream-list.js';
import { readView } from './view.js';

/** A page may be cut short of its limit at this size; the client goes on with `continue`. */
const PAGE_BYTES = 16 * 1024 * 1024;

export async function listObjects(
  x: Exchange,
  room: Room,
  caller: Caller,
  kind: KindDefinition,
  project: string | undefined,
): Promise<void> {
  const { scan, rendering } = readView(x, room, caller, kind, project);
  const request = readListRequest(x.query, scan.range.project);
  const page = await openPage(room, scan, request, x.gone);
  if (request.limit === undefined) {
    const unfollow = room.revocation.follow(x, { allows: scan.allows });
    try {
      await streamList(x, rendering, matching(page, scan), { before: `{"resourceVersion":"${page.version}"}` });
    } finally {
      unfollow();
    }
  } else await answerPage(x, page, scan, rendering, request.limit);
}

const COMMA = Buffer.from(',');

async function answerPage(x: Exchange, page: ListPage, scan: Scan, rendering: Rendering, limit: number): Promise<void> {
  const parts: Buffer[] = [Buffer.from(rendering.open(undefined))];
  let shown = 0;
  let size = 0;
  let last: Buffer | undefined;
  let more = false;
  for await (const batch of matching(page, scan)) {
    for (const body of batch) {
      if (shown === limit || (size > PAGE_BYTES && shown > 0)) {
        more = true;
        break;
      }
      if (shown > 0) parts.push(COMMA);
      const element = rendering.element(body);
      parts.push(element);
      size += element.length;
      shown += 1;
      last = body;
    }
    if (more) break;
  }
  parts.push(Buffer.from(rendering.close(pageMeta(page, scan, shown, more ? last : undefined))));
  reply(x, 200, Buffer.concat(parts), { 'content-type': JSON_TYPE, 'cache-control': 'no-cache, private' });
}

/** `last` is the last object shown when there are more. */
function pageMeta(page: ListPage, scan: Scan, shown: number, last: Buffer | undefined): string {
  if (last === undefined) return JSON.stringify({ resourceVersion: String(page.version) });
  const { name, namespace = '' } = decodeObject(last).metadata;
  // With a selector nobody knows how many of the rest match; Kubernetes leaves the count out then, too.
  const remaining = scan.selection.all && page.count !== undefined ? { remainingItemCount: page.count - shown } : {};
  return JSON.stringify({
    resourceVersion: String(page.version),
    continue: writeContinue({ version: page.version, project: namespace, name }),
    ...remaining,
  });
}
