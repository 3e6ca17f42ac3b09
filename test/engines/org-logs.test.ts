/** The logs of an org on the disk: what they may take together, and which of them are cut for it. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import test, { type ExecutionContext } from 'ava';
import { SEGMENT_HEAD } from '../../src/engines/compute/shared/log/frame.js';
import { FILE_COST, OrgLogs } from '../../src/engines/compute/shared/log/org-logs.js';
import { LogReader } from '../../src/engines/compute/shared/log/read-log.js';
import { until } from '../e2e/until.js';
import { LogWriter } from '../../src/engines/compute/shared/log/writer.js';
import { tries } from '../support/extent.js';

const base = mkdtempSync(join(tmpdir(), 'troupe-org-logs-'));
test.after.always(() => rmSync(base, { recursive: true, force: true }));

const KiB = 1024;
const MiB = 1024 * KiB;
/** A log of its own may be as long. */
const LOG = 8 * MiB;
let places = 0;

interface Place {
  readonly directory: string;
  readonly logs: OrgLogs;
  readonly said: string[];
}

function place({ orgBytes = 100 * MiB, allBytes = 1000 * MiB, directory = join(base, String(places++)) }): Place {
  const said: string[] = [];
  const report = (line: string): void => void said.push(line);
  mkdirSync(directory, { recursive: true });
  return { directory, said, logs: new OrgLogs({ directory, orgBytes, allBytes, now: Date.now, report }) };
}

function write({ logs, directory }: Place, id: string, org: string): LogWriter {
  return new LogWriter(join(directory, id), 'main', LOG, Date.now, () => undefined, logs.begin(id, org));
}

/** Lines of a KiB, with their newline. */
async function print(writer: LogWriter, lines: number): Promise<void> {
  const line = Buffer.from(`${'x'.repeat(KiB - 1)}\n`);
  for (let index = 0; index < lines; index++) {
    if (!writer.feed('stdout', line)) await new Promise<void>((go) => writer.whenReady(go));
  }
}

async function run(at: Place, id: string, org: string, lines: number): Promise<void> {
  const writer = write(at, id, org);
  await print(writer, lines);
  await writer.end();
  at.logs.ended(id);
}

async function read({ directory }: Place, id: string, tail?: number): Promise<string[]> {
  const reader = new LogReader(join(directory, id), 'main');
  await reader.seek(tail, false, new AbortController().signal);
  const lines: string[] = [];
  for await (const { stream, data } of reader.read()) lines.push(stream === 'system' ? String(data) : 'line');
  await reader.close();
  return lines;
}

function onDisk({ directory }: Place): number {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.log'));
  // One may go between the two looks.
  const sizes = files.flatMap((name) => statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? []);
  return sizes.reduce((sum, size) => sum + FILE_COST + size - SEGMENT_HEAD, 0);
}

/** When the org has no more than this, and the disk agrees. */
async function bounded(t: ExecutionContext, at: Place, org: string, bytes: number): Promise<void> {
  await until('its logs are cut', () => at.logs.bytesOf(org) <= bytes);
  // Of each log that was cut there is a head.
  await until('the disk has no more of them', () => onDisk(at) <= bytes + 64 * FILE_COST);
  t.pass();
}

const cutBefore = (line: number): RegExp => new RegExp(`^\\[everything before line ${line} \\(\\d+ bytes\\) was cut: `);

test('of an org above its bound the oldest logs of ended work are cut, each says how much, and no other org notices', async (t) => {
  const at = place({ orgBytes: 4 * MiB });
  await run(at, 'quiet', 'other', 10);
  for (let index = 0; index < 10; index++) await run(at, `work-${index}`, 'loud', KiB);
  await bounded(t, at, 'loud', 4 * MiB);
  const first = await read(at, 'work-0');
  t.is(first.length, 1);
  t.regex(first[0] ?? '', cutBefore(KiB + 1));
  t.deepEqual(await read(at, 'work-0', 5), first, 'also to who asks for its last lines');
  t.is((await read(at, 'work-9')).length, KiB);
  t.is((await read(at, 'quiet')).length, 10);
  t.regex(at.said[0] ?? '', /the oldest \d+ bytes of the org with most of them were cut/);
});

test('where nothing has ended, the largest log of what runs is cut, and goes on', async (t) => {
  const at = place({ orgBytes: 4 * MiB });
  const small = write(at, 'small', 'loud');
  await print(small, 100);
  const large = write(at, 'large', 'loud');
  const reader = new LogReader(join(at.directory, 'large'), 'main');
  for (let round = 0; round < 20; round++) {
    await print(large, KiB);
    await until('it is cut', () => at.logs.bytesOf('loud') <= 4 * MiB + 256 * KiB);
  }
  await print(large, 1);
  await Promise.all([small.end(), large.end()]);
  t.is((await read(at, 'small')).length, 100);
  const [said = '', ...lines] = await read(at, 'large');
  const begins = Number(/before line (\d+)/.exec(said)?.[1]) - 1;
  t.is(begins + lines.length, 20 * KiB + 1);
  let seen = 0;
  for await (const _ of reader.read()) seen++;
  t.is(seen, lines.length + 1, 'a reader that came before hears of the cut as well');
  await reader.close();
});

test('many small logs of work that runs are cut as well, the newest segment too', async (t) => {
  const at = place({ orgBytes: 4 * MiB });
  const writers = Array.from({ length: 40 }, (_, index) => write(at, `work-${index}`, 'loud'));
  for (const writer of writers) await print(writer, 200);
  await bounded(t, at, 'loud', 4 * MiB);
  await Promise.all(writers.map((writer) => writer.end()));
  const [said = ''] = await read(at, 'work-0');
  t.regex(said, /before line \d+/);
});

test('however fast many programs print, their logs never take more than the bound and one group of each', async (t) => {
  const at = place({ orgBytes: 4 * MiB });
  const writers = Array.from({ length: 12 }, (_, index) => write(at, `work-${index}`, 'loud'));
  let most = 0;
  const looks = setInterval(() => (most = Math.max(most, at.logs.bytesOf('loud'), onDisk(at))), 1);
  await Promise.all(writers.map((writer) => print(writer, 8 * KiB)));
  clearInterval(looks);
  t.true(most > 3 * MiB && most <= 4 * MiB + writers.length * (64 * KiB + 2 * FILE_COST), `${most} bytes`);
  await Promise.all(writers.map((writer) => writer.end()));
  const [said = '', ...lines] = await read(at, 'work-0');
  t.is(Number(/before line (\d+)/.exec(said)?.[1]) - 1 + lines.length, 8 * KiB);
});

test('a reader in the middle of a log that is cut is told, and ends', async (t) => {
  const at = place({ orgBytes: 4 * MiB });
  await run(at, 'first', 'loud', KiB);
  const reader = new LogReader(join(at.directory, 'first'), 'main');
  const lines = reader.read();
  t.is((await lines.next()).value?.stream, 'stdout');
  for (let index = 0; index < 5; index++) await run(at, `work-${index}`, 'loud', KiB);
  await bounded(t, at, 'loud', 4 * MiB);
  let last = '';
  for await (const { stream, data } of lines) last = stream === 'system' ? String(data) : '';
  t.regex(last, cutBefore(KiB + 1));
  await reader.close();
});

test('where a cut goes through a line, the log says that its beginning is gone', async (t) => {
  const at = place({ orgBytes: 1 * MiB });
  const writer = write(at, 'work', 'loud');
  await print(writer, 3);
  // A line without an end, longer than what is kept.
  for (let index = 0; index < 40; index++) {
    const chunk = Buffer.alloc(64 * KiB, 'y');
    if (!writer.feed('stdout', chunk)) await new Promise<void>((go) => writer.whenReady(go));
  }
  await writer.end();
  const [said = ''] = await read(at, 'work');
  t.regex(said, /^\[everything before line 4, and the beginning of that \(\d+ bytes\) was cut: /);
  at.logs.ended('work');
  await run(at, 'next', 'loud', 900);
  const [then = ''] = await until('its rest is cut', async () => {
    const lines = await read(at, 'work');
    return lines.length === 1 && lines;
  });
  t.regex(then, /^\[everything before line (4, and the beginning of that|5) \(2624512 bytes\) was cut: /);
});

test('logs of all orgs are bounded together, and the org with the most is cut', async (t) => {
  const at = place({ allBytes: 6 * MiB });
  for (let index = 0; index < 3; index++) await run(at, `quiet-${index}`, `quiet-${index}`, 300);
  for (let index = 0; index < 12; index++) await run(at, `work-${index}`, 'loud', KiB);
  await until('the disk has no more of them', () => onDisk(at) <= 6 * MiB + 64 * FILE_COST);
  for (let index = 0; index < 3; index++) t.is((await read(at, `quiet-${index}`)).length, 300);
  t.regex((await read(at, 'work-0'))[0] ?? '', cutBefore(KiB + 1));
});

test('a next process knows whose the logs are that it finds, and cuts the oldest first', async (t) => {
  const before = place({});
  await run(before, 'quiet', 'other', 100);
  for (let index = 0; index < 6; index++) await run(before, `work-${index}`, 'loud', KiB);
  const at = place({ orgBytes: 4 * MiB, directory: before.directory });
  await run(at, 'new', 'loud', 10);
  await at.logs.findStored(new AbortController().signal);
  await bounded(t, at, 'loud', 4 * MiB);
  t.is((await read(at, 'quiet')).length, 100);
  t.regex((await read(at, 'work-0'))[0] ?? '', cutBefore(KiB + 1));
  t.is((await read(at, 'work-5')).length, KiB);
  t.is((await read(at, 'new')).length, 10);
});

test('whatever begins, prints, is cut, ends and is removed, an org has what its files take', async (t) => {
  const step = fc.record({
    work: fc.nat(4),
    does: fc.constantFrom('print' as const, 'print' as const, 'cut' as const, 'end' as const, 'remove' as const),
    lines: fc.integer({ min: 1, max: 3_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const at = place({});
      const writers = new Map<string, LogWriter>();
      for (const [index, { work, does, lines }] of steps.entries()) {
        const known = [...writers].find(([id]) => id.startsWith(`${work}-`));
        const id = known?.[0] ?? `${work}-${index}`;
        const writer = known?.[1] ?? write(at, id, 'org');
        writers.set(id, writer);
        if (does === 'print') await print(writer, lines);
        if (does === 'cut') await writer.cut();
        if (does === 'print' || does === 'cut') continue;
        writers.delete(id);
        await writer.end();
        at.logs.ended(id);
        if (does === 'end') continue;
        at.logs.removed(id);
        rmSync(join(at.directory, id), { recursive: true, force: true });
      }
      await Promise.all([...writers.values()].map((writer) => writer.end()));
      t.is(at.logs.bytesOf('org'), onDisk(at));
    }),
    { numRuns: tries(30) },
  );
});
