/** What becomes of a tar on its way into a box: directories are opened for their owner, and nothing else is changed. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { array, assert, constantFrom, nat, oneof, property, record, tuple, uint8Array } from 'fast-check';
import { TarModes } from '../../actors/work/files/tar-modes.js';

type Passed = { readonly bytes: Buffer; readonly modes: readonly (readonly [path: string, mode: number])[] };

/** `cuts`: lengths of the pieces, again and again. */
function pass(archive: Uint8Array, cuts: readonly number[]): Passed {
  const tar = new TarModes();
  const parts: Uint8Array[] = [];
  for (let at = 0, n = 0; at < archive.length; n += 1) {
    const end = at + (cuts[n % cuts.length] ?? 0) + 1;
    const piece = tar.take(archive.subarray(at, end));
    if (piece.outcome === 'TooMany') throw new Error('too many');
    parts.push(Buffer.from(piece.bytes));
    at = end;
  }
  return {
    bytes: Buffer.concat([...parts, tar.end()]),
    modes: tar.changed().map(({ path, mode }) => [Buffer.from(path, 'latin1').toString(), mode]),
  };
}

type Sum = 'unsigned' | 'signed';

const POSIX = 'ustar\u000000';
const GNU = 'ustar  \0';

interface Entry {
  readonly name: string;
  readonly mode: number;
  readonly type: string;
  readonly content: Uint8Array;
  /** None: of the first tar. */
  readonly magic: typeof POSIX | typeof GNU | '';
  readonly sum: Sum;
  /** How a name that may be long is told. */
  readonly naming: 'plain' | 'prefix' | 'pax' | 'gnu';
}

function block(name: string, mode: number, type: string, size: number, { magic, sum }: Pick<Entry, 'magic' | 'sum'>) {
  const header = Buffer.alloc(512);
  const put = (text: string, at: number): number => header.write(text, at, 'latin1');
  put(name, 0);
  put(`${mode.toString(8).padStart(7, '0')}\0`, 100);
  put('0000012\u00000000013\0', 108);
  put(`${size.toString(8).padStart(11, '0')}\u000014000000000\0`, 124);
  put(type, 156);
  put(magic, 257);
  return { header, put, seal: (): Buffer => sealed(header, put, sum) };
}

function sealed(header: Buffer, put: (text: string, at: number) => number, sum: Sum): Buffer {
  put(' '.repeat(8), 148);
  let [number, signed] = [0, 0];
  for (const byte of header) {
    number += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  // One below zero cannot be told.
  if (sum === 'signed' && signed >= 0) number = signed;
  put(`${number.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

const filled = (bytes: Uint8Array): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 511)]);
const recordOf = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`;
};

/** One entry, as it is written with this mode. */
function written(queued: Entry, mode: number, sum: Sum = queued.sum): Buffer {
  const { name, type, content, magic, naming } = queued;
  const plain = { magic, sum: queued.sum };
  const parts: Buffer[] = [];
  if (naming === 'pax') {
    const about = Buffer.from(
      recordOf('mtime', '1.5') + recordOf('path', name) + recordOf('size', `${content.length}`),
      'latin1',
    );
    parts.push(block('PaxHeaders/x', 0o644, 'x', about.length, plain).seal(), filled(about));
  } else if (naming === 'gnu') {
    const about = Buffer.from(`${name}\0`, 'latin1');
    parts.push(block('././@LongLink', 0o644, 'L', about.length, plain).seal(), filled(about));
  }
  const cut = naming === 'prefix' ? name.slice(name.indexOf('/') + 1) : naming === 'plain' ? name : name.slice(0, 99);
  const own = block(cut, mode, type, naming === 'pax' ? 0 : content.length, { magic, sum });
  if (naming === 'prefix') own.put(name.slice(0, name.indexOf('/')), 345);
  parts.push(own.seal(), filled(content));
  return Buffer.concat(parts);
}

const END = Buffer.alloc(1024);
const part = constantFrom('a', 'b', '.', 'ünï', 'x y', 'é'.repeat(30));
const entries = array(
  record({
    name: array(part, { minLength: 1, maxLength: 4 }).map((parts) =>
      Buffer.from(`./${parts.join('/')}`).toString('latin1'),
    ),
    mode: constantFrom(0o755, 0o555, 0o500, 0o000, 0o2_575, 0o700, 0o1_777),
    type: constantFrom('5', '5', '0', '\0', '7'),
    content: oneof(
      uint8Array({ maxLength: 1_200 }),
      constantFrom(block('in', 0o555, '5', 0, { magic: '', sum: 'unsigned' }).seal()),
    ),
    magic: constantFrom<Entry['magic']>(POSIX, GNU, ''),
    sum: constantFrom<Sum>('unsigned', 'signed'),
    naming: constantFrom<Entry['naming']>('plain', 'prefix', 'pax', 'gnu'),
  }).map((entry): Entry => {
    const naming = entry.naming === 'prefix' && entry.magic !== POSIX ? 'plain' : entry.naming;
    const long = naming === 'pax' || naming === 'gnu';
    const name = long ? entry.name : entry.name.slice(0, 99).replace(/\/$/, '');
    return { ...entry, name, naming, content: entry.type === '5' ? new Uint8Array() : entry.content };
  }),
  { maxLength: 8 },
);

test('an archive passes byte for byte in whatever pieces it comes, but for the modes of directories', (t) => {
  const cuts = array(nat(2_000), { minLength: 1, maxLength: 5 });
  assert(
    property(entries, cuts, uint8Array({ maxLength: 700 }), (list, pieces, after) => {
      const opens = ({ type, mode }: Entry): boolean => type === '5' && (mode & 0o700) !== 0o700;
      const before = Buffer.concat([...list.map((queued) => written(queued, queued.mode)), END, after]);
      const expected = Buffer.concat([
        ...list.map((queued) =>
          opens(queued) ? written(queued, queued.mode | 0o700, 'unsigned') : written(queued, queued.mode),
        ),
        END,
        after,
      ]);
      const modes = new Map<string, number>();
      for (const queued of list) {
        if (queued.type !== '5') continue;
        const path = Buffer.from(queued.name, 'latin1')
          .toString()
          .split('/')
          .filter((one) => one !== '.')
          .join('/');
        modes.delete(path);
        if (opens(queued)) modes.set(path, queued.mode);
      }
      const passed = pass(before, pieces);
      ok(passed.bytes.equals(expected));
      deepEqual(new Map(passed.modes), modes);
      const depths = passed.modes.map(([path]) => (path === '' ? 0 : path.split('/').length));
      deepEqual(
        depths,
        depths.toSorted((one, other) => other - one),
      );
    }),
  );
  t.pass();
});

test('whatever is no archive passes as it is, and of a damaged one no byte is changed but modes and their sums', (t) => {
  const damage = array(tuple(nat(20_000), nat(255)), { maxLength: 6 });
  assert(
    property(entries, damage, array(nat(999), { minLength: 1, maxLength: 3 }), (list, damaged, pieces) => {
      const archive = Buffer.concat([...list.map((queued) => written(queued, queued.mode)), END]);
      for (const [at, byte] of damaged) if (archive.length > 0) archive[at % archive.length] = byte;
      const { bytes } = pass(archive, pieces);
      equal(bytes.length, archive.length);
      for (const [at, byte] of bytes.entries()) {
        const within = at % 512;
        if (byte !== archive[at]) ok((within >= 100 && within < 108) || (within >= 148 && within < 156), `${at}`);
      }
    }),
  );
  assert(property(uint8Array({ maxLength: 3_000 }), (noise) => ok(pass(noise, [99]).bytes.equals(noise))));
  t.pass();
});

test('an archive that is cut anywhere before its end is told from a whole one', (t) => {
  assert(
    property(entries, nat(20_000), uint8Array({ maxLength: 700 }), (list, at, after) => {
      const parts = list.map((queued) => written(queued, queued.mode));
      const whole = Buffer.concat([...parts, END]);
      const end = (bytes: Uint8Array): string => {
        const tar = new TarModes();
        tar.take(bytes);
        return tar.howEnded();
      };
      equal(end(Buffer.concat([whole, after])), 'Whole');
      equal(end(whole.subarray(0, whole.length - 512)), 'Whole');
      equal(end(whole.subarray(0, at % (whole.length - 1_023))), 'Cut');
    }),
  );
  t.pass();
});

test('the archives of this machine’s tar, in each of its formats, are read to their end', (t) => {
  const at = mkdtempSync(join(tmpdir(), 'tar-modes-'));
  t.teardown(() => rmSync(at, { recursive: true }));
  const long = 'long'.repeat(20);
  mkdirSync(join(at, `tree/${long}/${long}/last`), { recursive: true });
  mkdirSync(join(at, 'tree/shut'));
  writeFileSync(join(at, 'tree/holes'), '');
  const pieces = 'for i in 1 2 3 4 5 6 7; do printf x | dd of=holes bs=1 seek=${i}00000 conv=notrunc status=none; done';
  execFileSync('sh', ['-c', `${pieces}; ln holes twice; ln -s holes link`], { cwd: join(at, 'tree') });
  for (const path of [`${long}/${long}/last`, `${long}/${long}`, 'shut']) chmodSync(join(at, 'tree', path), 0o555);
  for (const format of ['oldgnu', 'gnu', 'ustar', 'posix', 'v7']) {
    // The others are too long for it.
    const below = format === 'v7' ? 'shut' : '.';
    const sparse = format === 'v7' || format === 'ustar' ? [] : ['--sparse'];
    const args = [
      '--sort=name',
      ...sparse,
      `--format=${format}`,
      '-C',
      join(at, 'tree'),
      '-cf',
      '-',
      'holes',
      'twice',
      'link',
      below,
    ];
    const archive = execFileSync('tar', args, { maxBuffer: 2 ** 24, stdio: ['ignore', 'pipe', 'ignore'] });
    const { bytes, modes } = pass(archive, [70_000]);
    const listed = (of: Buffer): string => execFileSync('tar', ['-tvf', '-'], { input: of, encoding: 'utf8' });
    t.is(listed(bytes), listed(archive).replaceAll('dr-xr-xr-x', 'drwxr-xr-x'), format);
    t.is(modes.length, format === 'v7' ? 1 : 3, format);
  }
});

test('names and bytes that are remembered are bounded', (t) => {
  const directory = (name: string): Buffer => block(name, 0o555, '5', 0, { magic: '', sum: 'unsigned' }).seal();
  const offer = (count: number, name: (n: number) => string): string => {
    const tar = new TarModes();
    for (let n = 0; n < count; n++) if (tar.take(directory(name(n))).outcome === 'TooMany') return 'TooMany';
    return 'Passes';
  };
  t.is(
    offer(20_000, (n) => `${n}`),
    'Passes',
  );
  t.is(
    offer(20_001, (n) => `${n}`),
    'TooMany',
  );
  t.is(
    offer(30_000, () => 'the same'),
    'Passes',
  );
});
