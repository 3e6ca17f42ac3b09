/** Logs over HTTP: how many lines hold the event loop, and how they are written. */
import test from 'ava';
import type { LogLine } from '../../src/engines/compute/contract/engine.js';
import { openSlices } from '../../actors/slices.js';
import { Writable } from 'node:stream';
import { writeLines } from '../../http/line-blocks.js';
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
  const whole = await writeLines(
    res,
    lines(),
    (line) => line,
    async () => {
      await slices.next('acme');
      sinceSlice = 0;
    },
  );
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
  const whole = writeLines(
    res,
    lines(),
    (line) => line,
    async () => undefined,
  );
  await until('the first line is written', () => written.length === 1);
  t.deepEqual(written, ['first\n']);
  release();
  t.true(await whole);
  t.deepEqual(written, ['first\n', 'second\n']);
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

test('the entries of a large directory are told in slices', async (t) => {
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
  t.is(slices, 4);
});
