/**
 * One watch from its request to its end: the initial state, the changes, bookmarks, the timeout.
 *
 * I4: the initial state is a list at one version; the changes are those above it, as the hub hands them over, in order
 * and each once. A bookmark carries a version up to which everything has been handed over (`stage.settled`).
 *
 * What can go wrong before the head is sent is answered as any error. After it: a version that is compacted, or that was never
 * given, is one ERROR event (410) and the end; a slow receiver is cut; a drain ends the answer cleanly; an error of ours cuts it.
 */
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Caller, Watcher } from '../../actors/resource-service.js';
import { statusObject, tooLargeVersion } from '../errors.js';
import type { Exchange } from '../exchange.js';
import { JSON_TYPE } from '../reply.js';
import type { ServerContext } from '../server-context.js';
import type { Rendering } from '../table/rendering.js';
import { matching, openPage } from '../resources/listing.js';
import type { Scan } from '../resources/range.js';
import { readBoolean, readLimit, readTimeoutSeconds, readWatchStart, type WatchStart } from '../resources/versions.js';
import { readView } from '../resources/view.js';
import { chunk, frame, tickChunks } from './frames.js';
import { Sender } from './sender.js';

/** Kubernetes: about one bookmark a minute. */
const BOOKMARK_SECONDS = 60;
/** Without timeoutSeconds a watch ends after 30 to 60 minutes, spread so that not all come back at once. */
const DEFAULT_TIMEOUT_MS = 30 * 60_000;

export async function watchObjects(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  kind: KindDefinition,
  project: string | undefined,
): Promise<void> {
  await context.heavyTurns.ofUrl(x);
  await context.resources.slice(caller.org);
  const { scan, rendering } = readView(x, context, caller, kind, project);
  const start = readWatchStart(x.query);
  readLimit(x.query.get('limit')); // means nothing to a watch, and is refused as by a list
  const bookmarks = readBoolean(x.query, 'allowWatchBookmarks') ?? false;
  const timeout = readTimeoutSeconds(x.query.get('timeoutSeconds'));
  const newest = context.resources.version();
  if (start.atLeast > newest) throw tooLargeVersion(start.atLeast, newest);

  const signal = x.gone;
  const begun = performance.now();
  const endAt = begun + (timeout === undefined ? DEFAULT_TIMEOUT_MS * (1 + jitter(context)) : timeout * 1000);
  const bookmarkMs = (context.config.limits.bookmarkSeconds ?? BOOKMARK_SECONDS) * 1000;
  let bookmarkAt = begun + bookmarkMs * (0.75 + jitter(context) / 2);
  let live = false;
  /** Newest version that this watch began with or was handed: no bookmark is older. */
  let handed = 0;
  let sender: Sender | undefined;

  const release = context.streams.add(x, {
    allows: scan.allows,
    revoke: () => (sender === undefined ? x.cut() : sender.end()),
    sweep(now) {
      if (sender === undefined) return;
      if (now >= endAt) sender.end();
      else if (live ? sender.tooSlow(now) : sender.tooMuch()) sender.cut();
      // A process that has just lost its lease has no stage: its watches are about to be ended.
      else if (live && bookmarks && now >= bookmarkAt && context.health.active()) {
        bookmarkAt = now + bookmarkMs;
        const version = Math.max(context.resources.settled(scan.range.org), handed);
        sender.send(chunk([frame('BOOKMARK', rendering.bookmark(version, false))]));
      }
    },
    end() {
      if (sender === undefined) x.res.destroy();
      else sender.end();
    },
  });
  const leave = (): void => {
    release();
    sender?.forget();
  };
  signal.addEventListener('abort', leave, { once: true });

  const page = start.initial
    ? await openPage(context, scan, { limit: undefined, mark: undefined, version: { at: 'newest' } }, signal)
    : undefined;
  const out = (sender = new Sender(scan.range.org, context.waiting, x.res, {
    'content-type': JSON_TYPE,
    'cache-control': 'no-cache, private',
    'x-request-id': x.requestId,
  }));
  try {
    const from = page?.version ?? start.from ?? newest;
    handed = from;
    if (page !== undefined) await sendInitial(out, page, scan, rendering, start, bookmarks, signal);
    if (!out.open) return;
    const watcher = watcherOf(x, out, scan, rendering, (version) => (handed = version));
    const outcome = await context.resources.watch(scan.range, from, watcher, signal);
    if (outcome === 'Expired') expire(x, out, from, context.resources.version());
    live = true;
  } catch (error) {
    out.cut();
    throw error;
  }
}

function jitter(context: ServerContext): number {
  return (context.randomBytes(1)[0] ?? 0) / 256;
}

function watcherOf(
  x: Exchange,
  out: Sender,
  scan: Scan,
  rendering: Rendering,
  onHanded: (version: number) => void,
): Watcher {
  return {
    onChanges(changes) {
      const last = changes.at(-1);
      if (last !== undefined) onHanded(last.version);
      return out.offer(tickChunks(changes, scan.selection, rendering));
    },
    drained: (signal) => out.drained(signal),
    onEnd(reason) {
      switch (reason) {
        case 'Draining':
          return out.end();
        case 'Expired':
          return expire(x, out, 0, 0);
        case 'Slow':
          return out.cut();
      }
    },
  };
}

function expire(x: Exchange, out: Sender, from: number, newest: number): void {
  const message =
    from > newest
      ? `too large resource version: ${from}, current: ${newest}; list again`
      : `too old resource version: ${from}`;
  out.send(chunk([frame('ERROR', JSON.stringify(statusObject(x, { code: 'Expired', message })))]));
  out.end();
}

async function sendInitial(
  out: Sender,
  page: { readonly version: number; readonly items: AsyncIterable<readonly Buffer[]> },
  scan: Scan,
  rendering: Rendering,
  start: WatchStart,
  bookmarks: boolean,
  signal: AbortSignal,
): Promise<void> {
  for await (const batch of matching(page, scan)) {
    out.send(chunk(batch.map((body) => frame('ADDED', rendering.single(body)))));
    await out.drained(signal);
    if (!out.open || signal.aborted) return;
  }
  if (start.initialEndBookmark && bookmarks) {
    out.send(chunk([frame('BOOKMARK', rendering.bookmark(page.version, true))]));
  }
}
