/**
 * A watcher as a careful client writes one: it lists once, then watches, and whenever the stream ends for whatever
 * reason it resumes at the last version it read. It never lists again, so a change that the service forgets stays
 * forgotten, and everything it ever saw is kept in order for the test to judge.
 */
import { again } from './again.js';
import { type Client, numberAt, parsed, textAt, valueAt } from './client.js';

export interface Seen {
  readonly type: string;
  readonly name: string;
  readonly version: number;
  readonly object: unknown;
}

export interface Watcher {
  /** ADDED, MODIFIED, DELETED, in the order of arrival, over all streams. */
  readonly seen: readonly Seen[];
  /** Version of the list that it began with. */
  readonly from: number;
  /** Last version it knows to be true, bookmarks included. */
  version(): number;
  /** How often it had to resume. */
  resumed(): number;
  /** An ERROR event or a refusal that a resuming client cannot go on from. */
  failure(): string | undefined;
  stop(): Promise<void>;
}

export async function openWatcher(makeClient: () => Client, collection: string): Promise<Watcher> {
  const first = await makeClient().get(collection);
  if (first.status !== 200) throw new Error(`list of ${collection} answered ${first.status}: ${first.text}`);
  const from = numberAt(first.body, 'metadata', 'resourceVersion');
  const stop = new AbortController();
  const pauses = again();
  const seen: Seen[] = [];
  let version = from;
  let resumed = -1;
  let failure: string | undefined;

  const take = (line: string): void => {
    const event = parsed(line);
    const type = textAt(event, 'type');
    const object = valueAt(event, 'object');
    if (type === 'ERROR') {
      failure = `ERROR event: ${JSON.stringify(object)}`;
      stop.abort();
      return;
    }
    const at = numberAt(object, 'metadata', 'resourceVersion');
    if (type !== 'BOOKMARK') seen.push({ type, name: textAt(object, 'metadata', 'name'), version: at, object });
    version = at;
  };

  const stream = async (): Promise<void> => {
    resumed += 1;
    const { url, key } = makeClient();
    const query = `?watch=true&allowWatchBookmarks=true&resourceVersion=${version}`;
    const response = await fetch(new URL(collection + query, url), {
      headers: { authorization: `Bearer ${key}` },
      signal: stop.signal,
    });
    if (response.status === 410 || response.status === 400) {
      failure = `watch at ${version} answered ${response.status}: ${await response.text()}`;
      stop.abort();
      return;
    }
    if (response.status !== 200 || response.body === null) {
      await response.body?.cancel();
      return;
    }
    pauses.reached();
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      rest += decoder.decode(chunk, { stream: true });
      // A line that was cut by the end of the stream is no event: it comes again after the resume.
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') take(line);
    }
  };

  const run = (async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await stream().catch(() => undefined);
      await pauses.pause(stop.signal);
    }
  })();

  return {
    seen,
    from,
    version: () => version,
    resumed: () => Math.max(0, resumed),
    failure: () => failure,
    async stop() {
      stop.abort();
      await run;
    },
  };
}

/** What is wrong with a watcher's history by itself: a version that does not grow, an event that cannot follow. */
export function flaws(watcher: Watcher, existedBefore: ReadonlySet<string>): readonly string[] {
  const found: string[] = [];
  const there = new Set(existedBefore);
  let last = watcher.from;
  for (const { type, name, version } of watcher.seen) {
    if (!(version > last)) found.push(`${type} ${name} at ${version} after ${last}`);
    if (type === 'ADDED' && there.has(name)) found.push(`${name} added twice, at ${version}`);
    if (type !== 'ADDED' && !there.has(name)) found.push(`${type} of ${name} at ${version}, which was not there`);
    if (type === 'DELETED') there.delete(name);
    else there.add(name);
    last = version;
  }
  return found;
}
