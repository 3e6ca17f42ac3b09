/** Logs on disk: whatever the pieces in which a program's output comes, a reader gets its bytes, in order, within bounds. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { open as openFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import test from 'ava';
import { LogReader } from '../../src/engines/compute/shared/log/read-log.js';
import { appendSystemLine } from '../../src/engines/compute/shared/log/append.js';
import { segmentsOf } from '../../src/engines/compute/shared/log/stored-segments.js';
import { LogWriter } from '../../src/engines/compute/shared/log/writer.js';
import { until } from '../e2e/until.js';
import { entries, link } from '../support/proc.js';
import type { LogLine } from '../../src/engines/compute/contract/engine.js';
import { tries } from '../support/extent.js';

const base = mkdtempSync(join(tmpdir(), 'troupe-log-'));
test.after.always(() => rmSync(base, { recursive: true, force: true }));

async function readAll(reader: LogReader): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const line of reader.read()) lines.push(line);
  return lines;
}

async function read(directory: string, tail?: number): Promise<LogLine[]> {
  const reader = new LogReader(directory, 'main');
  await reader.seek(tail, false, new AbortController().signal);
  const lines = await readAll(reader);
  await reader.close();
  return lines;
}

function bytesOf(lines: readonly LogLine[], stream: LogLine['stream']): Buffer {
  return Buffer.concat(lines.filter((line) => line.stream === stream).map(({ data }) => data));
}

/** Output in pieces that know nothing of lines. */
const pieces = fc.array(
  fc.record({
    stream: fc.constantFrom('stdout' as const, 'stderr' as const),
    data: fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\0', 'ü'), maxLength: 40 }),
      fc.integer({ min: 1, max: 40_000 }).map((length) => 'x'.repeat(length)),
      // More lines at once than are written together.
      fc.tuple(fc.nat(3_000), fc.nat(60)).map(([lines, length]) => `${'y'.repeat(length)}\n`.repeat(lines)),
    ),
  }),
  { maxLength: 30 },
);

test('every byte of both streams comes back in order, no piece above 16 KiB, and tail is the end of it', async (t) => {
  let round = 0;
  await fc.assert(
    fc.asyncProperty(pieces, fc.nat(20), async (output, tail) => {
      const directory = join(base, `bytes-${round++}`);
      let clock = 1_000;
      const writer = new LogWriter(
        directory,
        'main',
        64 * 1024 * 1024,
        () => clock++,
        () => undefined,
      );
      const reader = new LogReader(directory, 'main');
      const followed: LogLine[] = [];
      for (const { stream, data } of output) {
        if (!writer.feed(stream, Buffer.from(data))) await new Promise<void>((go) => writer.whenReady(go));
        // A reader that looks in between sees the beginning, never half a line.
        followed.push(...(await readAll(reader)));
      }
      await writer.end();
      followed.push(...(await readAll(reader)));
      await reader.close();
      const lines = await read(directory);
      for (const stream of ['stdout', 'stderr'] as const) {
        const expected = Buffer.concat(
          output.filter((piece) => piece.stream === stream).map(({ data }) => Buffer.from(data)),
        );
        t.true(bytesOf(lines, stream).equals(expected));
        t.true(bytesOf(followed, stream).equals(expected));
      }
      t.true(lines.every(({ data }) => data.length <= 16 * 1024));
      const last = await read(directory, tail);
      t.deepEqual(last, lines.slice(lines.length - last.length));
      const ends = last.filter(({ data }) => data.at(-1) === 10).length;
      t.true(ends <= tail);
    }),
    { numRuns: tries(60) },
  );
});

test('a log stays within its bound, and says exactly how much was cut', async (t) => {
  const directory = join(base, 'bound');
  const bound = 300_000;
  const writer = new LogWriter(directory, 'main', bound, Date.now, () => undefined);
  for (let index = 0; index < 40_000; index++) {
    if (!writer.feed('stdout', Buffer.from(`line ${index}\n`))) await new Promise<void>((go) => writer.whenReady(go));
  }
  await writer.end();
  const onDisk = readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  t.true(onDisk <= bound, `${onDisk} bytes`);
  const [first, ...rest] = await read(directory);
  t.is(first?.stream, 'system');
  const begins = Number(/before line (\d+)/.exec(Buffer.from(first?.data ?? []).toString())?.[1]) - 1;
  t.is(Buffer.from(rest[0]?.data ?? []).toString(), `line ${begins}\n`);
  t.is(begins + rest.length, 40_000);
  // A tail that ends in a later segment needs no word of what was cut.
  t.deepEqual(
    (await read(directory, 2)).map(({ data }) => Buffer.from(data).toString()),
    ['line 39998\n', 'line 39999\n'],
  );
});

test('a program that prints empty lines takes no more memory than others, and leaves turns to them', async (t) => {
  const directory = join(base, 'empty-lines');
  const sizes = [0];
  const size = (): number =>
    readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  const writer = new LogWriter(directory, 'main', 64 * 1024 * 1024, Date.now, () => sizes.push(size()));
  const lines = 64 * 1024;
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  t.false(writer.feed('stdout', Buffer.alloc(lines, '\n')), 'a chunk is more than a turn');
  await new Promise<void>((go) => writer.whenReady(go));
  clearImmediate(next);
  await writer.end();
  t.true(turns >= 30, `${turns} turns`);
  // As frames they are a megabyte.
  const most = Math.max(...sizes.slice(1).map((at, index) => at - (sizes[index] ?? 0)));
  t.true(most < 300_000, `${most} bytes at once`);
  t.is((await read(directory)).length, lines);
});

/** Calls `run`, and answers how many bytes of a file the largest read asked for meanwhile. */
async function largestRead(run: () => Promise<void>): Promise<number> {
  const file = await openFile(import.meta.filename, 'r');
  const handle = Object.getPrototypeOf(file) as FileHandle;
  await file.close();
  const { read: readPart, readFile } = handle;
  let largest = 0;
  handle.read = function (this: FileHandle, buffer: Buffer, ...rest: never[]) {
    largest = Math.max(largest, buffer.length);
    return (readPart as (...all: unknown[]) => unknown).call(this, buffer, ...rest);
  } as never;
  handle.readFile = async function (this: FileHandle, ...rest: never[]) {
    largest = Math.max(largest, (await this.stat()).size);
    return (readFile as (...all: unknown[]) => unknown).call(this, ...rest);
  } as never;
  try {
    await run();
  } finally {
    Object.assign(handle, { read: readPart, readFile });
  }
  return largest;
}

test('the last lines of a large log are looked for in chunks, and none is read while another is on its way', async (t) => {
  const directory = join(base, 'large');
  const writer = new LogWriter(directory, 'main', 8 * 1024 * 1024, Date.now, () => undefined);
  for (let index = 0; index < 50_000; index++) {
    const line = Buffer.from(`line ${index} ${'x'.repeat(index % 200)}\n`);
    if (!writer.feed('stdout', line)) await new Promise<void>((go) => writer.whenReady(go));
  }
  await writer.end();
  t.true((await segmentsOf(directory, 'main')).length > 2);
  const largest = await largestRead(async () => {
    for (const tail of [1, 100, 40_000, 49_999, 50_000, 1_000_000]) {
      const lines = await read(directory, tail);
      const from = Math.max(0, 50_000 - tail);
      t.true(
        Buffer.from(lines[0]?.data ?? [])
          .toString()
          .startsWith(`line ${from} `),
        `${tail}`,
      );
      t.is(lines.length, 50_000 - from);
    }
  });
  t.true(largest <= 64 * 1024, `${largest} bytes were read at once`);

  let asked = 0;
  let isHeld = 0;
  const reader = new LogReader(directory, 'main', {
    begin: async () => {
      isHeld = 1;
      asked += 1;
    },
    end: async () => void (isHeld = 0),
  });
  await reader.seek(10, false, new AbortController().signal);
  t.true(asked > 5, `${asked} times before the first line`);
  let ahead = 0;
  for await (const _ of reader.read()) ahead += isHeld === 1 ? 0 : 1;
  t.is(ahead, 0, 'a line is handed on only while its chunk may be held');
  t.is(isHeld, 0, 'and at the end nothing is held');
  await reader.close();
});

test('the last lines of a log that grows are so many, and a follower of them goes on', async (t) => {
  const directory = join(base, 'grows');
  const writer = new LogWriter(directory, 'main', 64 * 1024 * 1024, Date.now, () => undefined);
  const print = (from: number, to: number): void => {
    for (let index = from; index < to; index++) writer.feed('stdout', Buffer.from(`line ${index}\n`));
  };
  print(0, 100);
  await until('it is written', async () => (await read(directory)).length === 100);
  const texts = async (goesOn: boolean): Promise<string[]> => {
    const reader = new LogReader(directory, 'main');
    await reader.seek(2, goesOn, new AbortController().signal);
    const before = (await read(directory)).length;
    print(before, before + 50);
    await until('more is written', async () => (await read(directory)).length === before + 50);
    const lines = await readAll(reader);
    await reader.close();
    return lines.map(({ data }) => Buffer.from(data).toString());
  };
  t.deepEqual(await texts(false), ['line 98\n', 'line 99\n']);
  t.is((await texts(true)).length, 52);
  await writer.end();
});

test('a reader that is slow keeps no file open, hears of what was cut meanwhile, and reads on where it stood', async (t) => {
  const directory = join(base, 'slow');
  const writer = new LogWriter(directory, 'main', 4 * 1024 * 1024, Date.now, () => undefined);
  const line = Buffer.from(`${'x'.repeat(1023)}\n`);
  const print = async (lines: number): Promise<void> => {
    for (let index = 0; index < lines; index++)
      if (!writer.feed('stdout', line)) await new Promise<void>((go) => writer.whenReady(go));
  };
  const openFiles = (): string[] =>
    entries('/proc/self/fd')
      .map((fd) => link(`/proc/self/fd/${fd}`))
      .filter((path) => path.includes(directory) && !path.includes('main.3.log') && !path.includes('main.7.log'));
  await print(200);
  await until('it is written', async () => (await read(directory)).length === 200);
  const reader = new LogReader(directory, 'main');
  const lines = reader.read();
  t.is((await lines.next()).value?.data.length, 1024);
  await until(
    'it is closed',
    () => openFiles().every((path) => path.endsWith('main.0.log')) && openFiles().length <= 1,
  );
  let seen = 1;
  for (; seen < 150; seen++) t.is((await lines.next()).value?.data.length, 1024, 'it reads on');
  await print(8_000);
  await writer.end();
  await until('it keeps nothing that was cut', () => !openFiles().some((path) => path.includes('deleted')));
  let said = '';
  for await (const { stream, data } of lines) {
    if (stream === 'system') said = String(data);
    else seen++;
  }
  const begins = Number(/before line (\d+)/.exec(said)?.[1]) - 1;
  t.true(begins > 150, said);
  t.true(seen >= 150 + 8_200 - begins && seen < 8_200, `${seen} lines`);
  await reader.close();
});

test('silent work leaves no file', async (t) => {
  const directory = join(base, 'silent');
  const writer = new LogWriter(directory, 'main', 1_000_000, Date.now, () => undefined);
  await writer.end();
  t.true(writer.silent);
  t.deepEqual(await segmentsOf(directory, 'main'), []);
  t.deepEqual(await read(directory), []);
});

test('a line is added behind a log that broke off in the middle of a frame', async (t) => {
  const directory = join(base, 'broken');
  const writer = new LogWriter(directory, 'main', 1_000_000, Date.now, () => undefined);
  writer.feed('stdout', Buffer.from('one\ntwo\n'));
  await writer.end();
  const [segment] = await segmentsOf(directory, 'main');
  const { size } = statSync(segment?.path ?? '');
  truncateSync(segment?.path ?? '', size - 5);
  await appendSystemLine(directory, 'main', 5, 'the end');
  t.deepEqual(
    (await read(directory)).map(({ stream, data }) => `${stream} ${Buffer.from(data).toString()}`),
    ['stdout one\n', 'system [the end]\n'],
  );
});

test('a log that cannot be written keeps the first of its output, never takes the program’s time, and says what is lost', async (t) => {
  const directory = join(base, 'full');
  // A file in the way of the directory: every write fails.
  writeFileSync(directory, '');
  let written = 0;
  const writer = new LogWriter(directory, 'main', 1_000_000, Date.now, () => written++);
  for (let index = 0; index < 100; index++) {
    if (!writer.feed('stdout', Buffer.alloc(10_000, 'x'))) await new Promise<void>((go) => writer.whenReady(go));
  }
  rmSync(directory);
  writer.feed('stdout', Buffer.from('\nafter\n'));
  await writer.end();
  t.true(writer.isWhole);
  const lines = await read(directory);
  const [said, ...more] = lines.filter(({ stream }) => stream === 'system');
  t.deepEqual(more, []);
  const lost = Number(/^\[(\d+) bytes of output were lost/.exec(Buffer.from(said?.data ?? []).toString())?.[1]);
  t.true(lost > 0 && lost < 800_000, `${lost} bytes`);
  t.is(bytesOf(lines, 'stdout').length + lost, 1_000_000 + '\nafter\n'.length);
  t.is(bytesOf(lines.slice(0, lines.indexOf(said as LogLine)), 'stdout').length > 200_000, true);
  t.is(Buffer.from(lines.at(-1)?.data ?? []).toString(), 'after\n');
});

const disk = mkdtempSync(join(tmpdir(), 'troupe-log-disk-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=128k,mode=0755', 'troupe-test', disk]).status === 0;
test.after.always(() => {
  if (mounted) spawnSync('umount', ['--lazy', disk]);
  rmSync(disk, { recursive: true, force: true });
});
const onSmallDisk = mounted ? test.serial : test.skip;

/** Leaves so many bytes, in whole pages. */
function fill(left: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'ballast'), Buffer.alloc(bavail * bsize - left));
}

for (const left of [0, 4096, 12_288]) {
  onSmallDisk(`what a full disk does not take of a log is there when there is room (${left} bytes free)`, async (t) => {
    fill(left);
    const directory = join(disk, 'logs');
    const writer = new LogWriter(directory, 'main', 1_000_000, Date.now, () => undefined);
    const text = Array.from({ length: 2_000 }, (_, index) => `line ${index}\n`).join('');
    for (let at = 0; at < text.length; at += 1_000) {
      const piece = Buffer.from(text.slice(at, at + 1_000));
      if (!writer.feed('stdout', piece)) await new Promise<void>((go) => writer.whenReady(go));
      // So that the disk becomes full in the middle of the log.
      if (at % 7_000 === 0) await new Promise((go) => setImmediate(go));
    }
    await writer.end();
    t.false(writer.isWhole);
    // Whoever reads meanwhile finds a log, as far as it goes.
    t.true(text.startsWith(bytesOf(await read(directory), 'stdout').toString()));
    rmSync(join(disk, 'ballast'));
    t.is(await writer.complete({ abandoned: new AbortController().signal, lasts: () => true }), 0);
    const lines = await read(directory);
    t.is(bytesOf(lines, 'stdout').toString(), text);
    t.deepEqual(
      lines.filter(({ stream }) => stream === 'system'),
      [],
    );
    rmSync(directory, { recursive: true });
  });
}

onSmallDisk(
  'a log for which there is no room in time is given up, and how much of it is lost is answered',
  async (t) => {
    fill(0);
    const directory = join(disk, 'logs');
    const writer = new LogWriter(directory, 'main', 1_000_000, Date.now, () => undefined);
    writer.feed('stdout', Buffer.from('hello\n'));
    t.is(await writer.complete({ abandoned: new AbortController().signal, lasts: () => false }), 6);
    t.false(writer.silent, 'what it left of a directory is to be removed');
    t.deepEqual(await read(directory), []);
    rmSync(join(disk, 'ballast'));
  },
);
