/** Logs over HTTP: how many lines hold the event loop, and how they are written. */
import test from 'ava';
import type { LogLine, LogPace } from '../../src/engines/compute/contract/engine.js';
import { RefusalError } from '../../src/api/refusal.js';
import { openSlices } from '../../actors/slices.js';
import { Writable } from 'node:stream';
import { openAnswerPlaces } from '../../http/answer-places.js';
import { LineBlocks } from '../../http/line-blocks.js';
import { until } from '../e2e/until.js';
import { IN_DEFAULT, openTestApi } from './support/test-api.js';

function sink(): { readonly res: Writable; readonly written: string[] } {
  const written: string[] = [];
  const res = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString());
      done();
    },
  });
  return { res, written };
}

function blocksTo(
  res: Writable,
  {
    org = 'acme',
    places = openAnswerPlaces(),
    gone = new AbortController().signal,
    nextSlice = async (): Promise<void> => undefined,
  } = {},
): LineBlocks {
  return new LineBlocks(res, { org, places, gone, nextSlice });
}

test('many short lines are few writes, and a slice of the event loop for each block of them', async (t) => {
  const slices = openSlices(4);
  let pulled = 0;
  let sinceSlice = 0;
  let most = 0;
  async function* lines(): AsyncGenerator<Buffer> {
    for (; pulled < 5_000; pulled += 1) {
      sinceSlice += 1;
      most = Math.max(most, sinceSlice);
      yield Buffer.from('\n');
    }
  }
  const { res, written } = sink();
  const nextSlice = async (): Promise<void> => {
    await slices.next('acme');
    sinceSlice = 0;
  };
  const whole = await blocksTo(res, { nextSlice }).write(lines(), (line) => line);
  t.true(whole);
  t.is(written.join(''), '\n'.repeat(5_000));
  t.true(most <= 100, `${most} lines in one slice`);
  t.true(written.length <= 110, `${written.length} writes`);
});

test('a line of a follower goes on though no other follows', async (t) => {
  let release = (): void => undefined;
  async function* lines(): AsyncGenerator<Buffer> {
    yield Buffer.from('first\n');
    await new Promise<void>((resolve) => (release = resolve));
    yield Buffer.from('second\n');
  }
  const { res, written } = sink();
  const whole = blocksTo(res).write(lines(), (line) => line);
  await until('the first line is written', () => written.length === 1);
  t.deepEqual(written, ['first\n']);
  release();
  t.true(await whole);
  t.deepEqual(written, ['first\n', 'second\n']);
});

/** A log of chunks, each of which is counted while it is held. */
function chunksOf(chunks: number, count: (held: 1 | -1) => void) {
  return async function* (pace: LogPace): AsyncGenerator<Buffer> {
    for (let chunk = 0; chunk < chunks; chunk += 1) {
      await pace.begin();
      count(1);
      for (let line = 0; line < 4; line += 1) yield Buffer.alloc(16 * 1024, 'x');
      await pace.end();
      count(-1);
    }
  };
}

test('clients that do not read hold a bounded number of chunks, and one of another org gets its log meanwhile', async (t) => {
  const places = openAnswerPlaces({ places: 8, takeMs: 60_000 });
  let held = 0;
  const log = chunksOf(10, (more) => (held += more));
  const clients = Array.from({ length: 100 }, () => {
    const res = new Writable({ write: () => undefined });
    const gone = new AbortController();
    res.once('close', () => gone.abort(new Error('gone')));
    const blocks = blocksTo(res, { places, gone: gone.signal });
    const over = blocks.write(log(blocks.pace), (line) => line).catch(() => undefined);
    return { res, over: over.finally(() => blocks.free()) };
  });
  const { res, written } = sink();
  let most = 0;
  const blocks = blocksTo(res, { places, org: 'globex' });
  const whole = await blocks.write(chunksOf(10, () => (most = Math.max(most, held)))(blocks.pace), (line) => line);
  t.true(whole);
  t.is(written.join('').length, 10 * 64 * 1024);
  t.is(held, 4, 'an org leaves as many places free as it holds');
  t.is(most, 4);
  for (const client of clients) client.res.destroy();
  await Promise.all(clients.map(({ over }) => over));
  const all = await Promise.all([1, 2, 3, 4].map(() => places.take('acme', new AbortController().signal)));
  t.is(all.length, 4, 'all places are free again');
});

test('a client that does not read is cut when others of its org wait for its place, and they get their logs', async (t) => {
  const places = openAnswerPlaces({ places: 2, takeMs: 20 });
  const stuck = new Writable({ write: () => undefined });
  const first = blocksTo(stuck, { places });
  const over = first.write(chunksOf(1, () => undefined)(first.pace), (line) => line).finally(() => first.free());
  await until('it holds the place', () => stuck.writableLength > 0);
  t.false(stuck.destroyed);
  const { res, written } = sink();
  const second = blocksTo(res, { places });
  t.true(await second.write(chunksOf(1, () => undefined)(second.pace), (line) => line));
  t.is(written.join('').length, 64 * 1024);
  t.false(await over);
  t.true(stuck.destroyed);
});

test('who waits too long for a place is refused, and leaves nothing behind', async (t) => {
  const places = openAnswerPlaces({ places: 2, waitMs: 20 });
  const place = await places.take('acme', new AbortController().signal);
  const refused = await t.throwsAsync(places.take('acme', new AbortController().signal), { instanceOf: RefusalError });
  t.like(refused?.refusal, { code: 'TooManyRequests', retryAfterSeconds: 5 });
  const gone = new AbortController();
  const left = places.take('acme', gone.signal);
  gone.abort(new Error('gone'));
  await t.throwsAsync(left, { message: 'gone' });
  place.free();
  place.free();
  (await places.take('acme', new AbortController().signal)).free();
});

test('a log of empty lines comes whole, with and without times and cut to its bytes, and its reader takes turns', async (t) => {
  const time = Date.parse('2026-01-02T03:04:05.006Z');
  async function* lines(): AsyncGenerator<LogLine> {
    for (let i = 0; i < 1_000; i += 1) yield { stream: 'stdout', time, data: Buffer.from('\n') };
  }
  const api = await openTestApi(t, { logs: { open: async () => lines() } });
  let slices = 0;
  const { slice } = api.resources;
  api.resources.slice = async (org) => {
    slices += 1;
    return slice(org);
  };
  await api.make('Sandbox', 'sandboxes', 'box');
  const log = `${IN_DEFAULT}/sandboxes/box/logs`;
  t.is(await (await api.call(log)).text(), '\n'.repeat(1_000));
  t.true(slices >= 10, `${slices} slices`);
  t.is(await (await api.call(`${log}?timestamps=true`)).text(), '2026-01-02T03:04:05.006Z \n'.repeat(1_000));
  t.is(await (await api.call(`${log}?timestamps=true&limitBytes=30`)).text(), '2026-01-02T03:04:05.006Z \n2026');
});

test('logs that are opened at once are looked for one slice of the event loop after the other', async (t) => {
  let opened = 0;
  const api = await openTestApi(t, {
    logs: {
      async open() {
        opened += 1;
        return (async function* () {
          yield { stream: 'stdout' as const, time: 0, data: Buffer.from('x\n') };
        })();
      },
    },
  });
  await api.make('Sandbox', 'sandboxes', 'box');
  const waiting: (() => void)[] = [];
  api.resources.slice = () => new Promise((resolve) => waiting.push(resolve));
  const many = Array.from({ length: 20 }, () => api.call(`${IN_DEFAULT}/sandboxes/box/logs`));
  await until('all wait for their slice', () => waiting.length === 20);
  t.is(opened, 0);
  waiting.shift()?.();
  await until('one has its slice', () => opened > 0);
  t.is(opened, 1);
  api.resources.slice = async () => undefined;
  for (const begin of waiting) begin();
  for (const answer of await Promise.all(many)) t.is(await answer.text(), 'x\n');
});

test('the entries of a large directory are answered in slices', async (t) => {
  const entry = (i: number) => ({ name: `f${i}`, type: 'File' as const, size: i, mode: '0644', modified: 0 });
  const entries = Array.from({ length: 2_000 }, (_, i) => entry(i));
  const api = await openTestApi(t, {
    files: { list: async () => ({ entries, truncated: true }) } as never,
  });
  let slices = 0;
  api.resources.slice = async () => void (slices += 1);
  await api.make('Sandbox', 'sandboxes', 'box');
  const answer = await api.call(`${IN_DEFAULT}/sandboxes/box/files?path=/tmp&list=true`);
  const { items, truncated } = (await answer.json()) as { items: unknown[]; truncated: boolean };
  t.true(truncated);
  t.is(items.length, 2_000);
  const modifiedTime = '1970-01-01T00:00:00Z';
  t.deepEqual(items[7], { name: 'f7', path: '/tmp/f7', type: 'File', size: 7, mode: '0644', modifiedTime });
  t.true(slices >= 4, `${slices} slices`);
});
