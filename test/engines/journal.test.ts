/** The runner's journal: what was accepted is remembered, in whatever state a crash left the file. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import test from 'ava';
import {
  compactJournal,
  NewerJournal,
  encodeRecord,
  JOURNAL_FORMAT,
  readJournal,
  type JournalContents,
  type JournalRecord,
} from '../../src/runner/journal/format.js';
import { Journal } from '../../src/runner/journal/journal.js';

const base = mkdtempSync(join(tmpdir(), 'troupe-journal-'));
test.after.always(() => rmSync(base, { recursive: true, force: true }));

const INSIDE = { workspace: '/workspace', home: '/root', secrets: '/run/secrets', root: '/svc' };
const id = fc.constantFrom('a.1', 'b.1', 'c.2');
const record: fc.Arbitrary<JournalRecord> = fc.oneof(
  fc.record({ r: fc.constant('epoch' as const), epoch: fc.nat(9) }),
  fc.record({ r: fc.constant('accept' as const), id, at: fc.nat(99), containers: fc.constant(['main']) }),
  fc.record({ r: fc.constant('started' as const), id, at: fc.nat(99), sequence: fc.constant(2) }),
  id.map((work): JournalRecord => ({
    r: 'end',
    state: { id: work, phase: 'Exited', sequence: 3, exitCode: 0, endedAt: 7 },
  })),
  id.map((work): JournalRecord => ({
    r: 'saving',
    id: work,
    slot: 4,
    order: { id: work, inside: INSIDE, outputs: [], workingDir: '/', inputs: [], limits: { disk: 1 } },
    end: { id: work, phase: 'Exited', sequence: 3, exitCode: 0, endedAt: 7 },
  })),
  fc.record({ r: fc.constant('remove' as const), id }),
);

const text = (records: readonly JournalRecord[]): string =>
  encodeRecord({ r: 'format', format: JOURNAL_FORMAT }) + records.map(encodeRecord).join('');

test('a journal that is cut anywhere says what its whole lines say', (t) => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 12 }), fc.nat(), (records, at) => {
      const whole = text(records);
      const cut = whole.slice(0, at % (whole.length + 1));
      const kept = cut.split('\n').length - 1;
      t.deepEqual(readJournal(cut), readJournal(text(records.slice(0, Math.max(0, kept - 1)))));
    }),
  );
});

test('a compacted journal says the same as the long one', (t) => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 20 }), (records) => {
      const contents = readJournal(text(records));
      t.deepEqual(readJournal(compactJournal(contents).map(encodeRecord).join('')), contents);
    }),
  );
});

test('journals of formats 1 and 3 are read; one of a later format is refused with its number', (t) => {
  const old = [
    '{"r":"format","format":1}',
    '{"r":"epoch","epoch":4}',
    '{"r":"accept","id":"a.1","at":5,"containers":["main"]}',
    '{"r":"end","id":"a.1","phase":"Exited","sequence":3,"exitCode":9}',
    '',
  ].join('\n');
  const { epoch, works } = readJournal(old);
  t.is(epoch, 4);
  t.deepEqual(works.get('a.1')?.state, { id: 'a.1', phase: 'Exited', sequence: 3, exitCode: 9 });
  const saving = { order: { id: 'a.1' }, end: { id: 'a.1', phase: 'Exited', sequence: 3 } };
  const third = [
    { r: 'format', format: 3 },
    { r: 'accept', id: 'a.1', at: 5, containers: ['main'] },
    { r: 'saving', id: 'a.1', place: 7, ...saving },
  ];
  const read = readJournal(third.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const kept: unknown = read.works.get('a.1')?.saving;
  t.deepEqual(kept, { slot: 7, ...saving });
  t.throws(() => readJournal('{"r":"format","format":5}\n'), {
    instanceOf: NewerJournal,
    message: /format 5, written by a newer version.*up to 4/,
  });
});

test('holes that a crash of the machine left are skipped; other broken lines stop the start', (t) => {
  const [head, first, last] = text([
    { r: 'epoch', epoch: 1 },
    { r: 'epoch', epoch: 2 },
  ]).split('\n');
  t.is(readJournal(`${head}\n${first}\n\0\0\0\0\n${last}\n`).epoch, 1 + 1);
  t.throws(() => readJournal(`${head}\n{"r":"acc\n${last}\n`), { message: /line 2 is broken/ });
});

const NOTHING: JournalContents = { epoch: 0, works: new Map() };

test('what was awaited is in the file, however many come at once, also through compactions', async (t) => {
  const path = join(base, 'many');
  const journal = await Journal.open(path, NOTHING);
  const wide = 'x'.repeat(5_000);
  const kept: string[] = [];
  await Promise.all(
    Array.from({ length: 2_000 }, async (_, index) => {
      const state = { id: `w${index}.1`, phase: 'Exited' as const, sequence: 3, message: wide };
      await journal.append({ r: 'end', state });
      if (index % 10 === 0) kept.push(state.id);
      else journal.note({ r: 'remove', id: state.id });
    }),
  );
  await journal.append({ r: 'epoch', epoch: 8 });
  // Ten megabytes went through it.
  await shorter(path, 8_000_000);
  const found = readJournal(readFileSync(path, 'utf8'));
  t.is(found.epoch, 8);
  t.deepEqual([...found.works.keys()].toSorted(), kept.toSorted());
});

/** Waits until the journal has been compacted to fewer bytes. */
async function shorter(path: string, bytes: number): Promise<void> {
  for (const until = Date.now() + 30_000; readFileSync(path).length >= bytes; await delay(5))
    if (Date.now() > until) throw new Error('the journal was not compacted');
}

/** As many notes of one live piece of work as make the next record the one after which the file is compacted. */
function fillWithNotes(journal: Journal, work: string): void {
  const note = { r: 'started', id: work, at: 1, sequence: 2 } as const;
  for (let bytes = 0; bytes <= 4 * 1024 * 1024; bytes += encodeRecord(note).length) journal.note(note);
}

test('an end after which the journal is compacted is in the shorter file: the work does not run twice', async (t) => {
  const path = join(base, 'end');
  const journal = await Journal.open(path, NOTHING);
  await journal.append({ r: 'accept', id: 'a.1', at: 1, containers: ['main'] });
  fillWithNotes(journal, 'a.1');
  await journal.append({ r: 'end', state: { id: 'a.1', phase: 'Exited', sequence: 3, exitCode: 0, endedAt: 7 } });
  await shorter(path, 1_000);
  t.is((await Journal.read(path)).works.get('a.1')?.state.phase, 'Exited');
});

test('records that could not be written are in the file as soon as anything can be', async (t) => {
  const directory = join(base, 'gone');
  const away = join(base, 'away');
  mkdirSync(directory);
  const path = join(directory, 'journal');
  const journal = await Journal.open(path, NOTHING);
  await journal.append({ r: 'accept', id: 'a.1', at: 1, containers: ['main'] });
  fillWithNotes(journal, 'a.1');
  // The compaction fails, and then each write until the directory is back.
  renameSync(directory, away);
  fillWithNotes(journal, 'a.1');
  await journal.append({ r: 'epoch', epoch: 2 });
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  const end = { r: 'end', state: { id: 'a.1', phase: 'Exited', sequence: 3, exitCode: 0, endedAt: 7 } } as const;
  await t.throwsAsync(journal.append(end), { code: 'ENOENT' });
  renameSync(away, directory);
  await journal.append({ r: 'epoch', epoch: 3 });
  const found = await Journal.read(path);
  t.is(found.epoch, 3);
  t.is(found.works.get('a.1')?.state.phase, 'Exited');
});

test('a crash between two files of a compaction leaves the old one', async (t) => {
  const path = join(base, 'twice');
  writeFileSync(path, text([{ r: 'epoch', epoch: 3 }]));
  writeFileSync(`${path}.new`, 'half');
  t.is((await Journal.read(path)).epoch, 3);
  await Journal.open(path, { epoch: 3, works: new Map() });
  t.is((await Journal.read(path)).epoch, 3);
});
