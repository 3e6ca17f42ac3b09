/**
 * Answering a list: whole, or a page of at most 1000 objects and PAGE_BYTES. Either is streamed and never built. Metadata
 * of a page stand behind its items, because whether there is more is known only then.
 */
import { decodeObject } from '../../src/api/encode.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller, ListPage } from '../../actors/resource-service.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import { writeContinue } from './continue.js';
import { matching, openPage, readListRequest, type ListRequest } from './listing.js';
import type { Scan } from './range.js';
import { streamList } from './stream-list.js';
import { readView } from './view.js';

/** A page may be cut short of its limit at this size; the client goes on with `continue`. */
const PAGE_BYTES = 16 * 1024 * 1024;

export async function listObjects(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string | undefined,
): Promise<void> {
  await context.heavyTurns.ofUrl(x);
  await context.resources.slice(caller.org);
  const { scan, rendering } = readView(x, context, caller, kind, project);
  const request = readListRequest(x.query, scan.range.project);
  const page = await openPage(context, scan, request, x.gone);
  const unfollow = context.revocation.follow(x, { allows: scan.allows });
  try {
    const { limit } = request;
    if (limit === undefined) {
      await streamList(x, rendering, matching(page, scan), { before: `{"resourceVersion":"${page.version}"}` });
      return;
    }
    const cut = cutPage(matching(page, scan), limit);
    await streamList(x, rendering, cut.groups, { after: () => pageMeta(page, scan, request, cut.taken()) });
  } finally {
    unfollow();
  }
}

interface Taken {
  readonly shown: number;
  /** The last one that was shown, when there are more. */
  readonly last: Buffer | undefined;
}

/** The first of the objects, and what the page's metadata say of them once they have been taken. */
function cutPage(groups: AsyncIterable<readonly Buffer[]>, limit: number) {
  let shown = 0;
  let bytes = 0;
  let last: Buffer | undefined;
  let more = false;
  return {
    taken: (): Taken => ({ shown, last: more ? last : undefined }),
    groups: (async function* () {
      for await (const group of groups) {
        let here = 0;
        for (const body of group) {
          more = shown === limit || (bytes > PAGE_BYTES && shown > 0);
          if (more) break;
          here += 1;
          shown += 1;
          bytes += body.length;
          last = body;
        }
        yield more ? group.slice(0, here) : group;
        if (more) return;
      }
    })(),
  };
}

function pageMeta(page: ListPage, scan: Scan, { mark }: ListRequest, { shown, last }: Taken): string {
  const resourceVersion = String(page.version);
  if (last === undefined) return JSON.stringify({ resourceVersion });
  const { name, namespace = '' } = decodeObject(last).metadata;
  // With a selector nobody knows how many of the rest match; Kubernetes leaves the count out then, too.
  const before = mark === undefined ? page.count : mark.left;
  const left = scan.selection.all && before !== undefined && before > shown ? before - shown : undefined;
  return JSON.stringify({
    resourceVersion,
    continue: writeContinue({ version: page.version, project: namespace, name, left }),
    ...(left === undefined ? {} : { remainingItemCount: left }),
  });
}
