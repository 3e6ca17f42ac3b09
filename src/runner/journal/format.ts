/**
 * The form of the runner's journal: one JSON object per line, the first one naming the format. Pure.
 * No record holds an environment, a command or a secret (I11): only what a following runner must know to report the work
 * and to clean up after it.
 *
 * Formats. 4 (now): a `slot` in `saving`, which was its `place`. 3: `saving`. 2: `end` carries the whole state. 1: `end` carried the fields of the state flat, next to `id`.
 */
import type { WorkState } from '../../engines/compute/contract/engine.js';
import type { OutputOrder } from '../work/path-map.js';

export const JOURNAL_FORMAT = 4;

export type JournalRecord =
  | { readonly r: 'format'; readonly format: number }
  /** Highest lease epoch that was accepted. */
  | { readonly r: 'epoch'; readonly epoch: number }
  | { readonly r: 'accept'; readonly id: string; readonly at: number; readonly containers: readonly string[] }
  | { readonly r: 'started'; readonly id: string; readonly at: number; readonly sequence: number }
  /** Its vital outputs are to be saved, also by a following runner: it runs, or nothing of it runs any more. A later one replaces it. */
  | ({ readonly r: 'saving'; readonly id: string } & UnderSave)
  | { readonly r: 'end'; readonly state: WorkState }
  | { readonly r: 'remove'; readonly id: string };

/** Files that must not be cleared away before they are saved. */
export interface UnderSave {
  /** Number of the scratch slot in which they lie. */
  readonly slot: number;
  readonly order: OutputOrder;
  /** Its last state, but for the outputs; Lost while it runs. */
  readonly end: WorkState;
}

/** What a journal says about one piece of work. */
export interface JournaledWork {
  readonly containers: readonly string[];
  readonly state: WorkState;
  /** Of work that has not ended. */
  readonly saving?: UnderSave | undefined;
}

export interface JournalContents {
  readonly epoch: number;
  readonly works: ReadonlyMap<string, JournaledWork>;
}

/** A newer program wrote it: this one can never read it, and must not touch it. */
export class NewerJournal extends Error {
  constructor(format: number) {
    super(
      `the runner's journal is of format ${format}, written by a newer version of this program, which reads up to ` +
        `${JOURNAL_FORMAT}: start that version again`,
    );
    this.name = 'NewerJournal';
  }
}

/** Exit code of a runner that found one; unlike any other end, trying again is of no use. */
export const NEWER_JOURNAL_EXIT = 43;

const upcasters: Readonly<Record<number, (line: Record<string, unknown>) => Record<string, unknown>>> = {
  1: (line) => {
    if (line['r'] !== 'end' || line['state'] !== undefined) return line;
    const { r, ...state } = line;
    return { r, state };
  },
  3: (line) => {
    if (line['r'] !== 'saving') return line;
    const { place: slot, ...rest } = line;
    return { ...rest, slot };
  },
};

/**
 * Reads a journal. A last line that was cut by a crash is ignored; any other broken line, or a format newer than this
 * program's, throws: guessing would lose work.
 */
export function readJournal(text: string): JournalContents {
  const works = new Map<string, JournaledWork>();
  let epoch = 0;
  let format = JOURNAL_FORMAT;
  const lines = text.split('\n');
  const complete = lines.length - 1;
  for (let index = 0; index < complete; index++) {
    const line = lines[index];
    if (line === undefined || line === '') continue;
    let raw: Record<string, unknown>;
    try {
      raw = JSON.parse(line) as Record<string, unknown>;
    } catch {
      // A crash of the machine can leave a hole of zero bytes before lines that never reached the disk.
      if (index === complete - 1 || line.includes('\0')) continue;
      throw new Error(`journal line ${index + 1} is broken`);
    }
    if (raw['r'] === 'format') {
      format = Number(raw['format']);
      if (format > JOURNAL_FORMAT) throw new NewerJournal(format);
      if (!(format >= 1)) throw new Error(`journal line ${index + 1} has no format`);
      continue;
    }
    let upcast = raw;
    for (let step = format; step < JOURNAL_FORMAT; step++) upcast = upcasters[step]?.(upcast) ?? upcast;
    epoch = foldRecord(works, upcast as JournalRecord, epoch);
  }
  return { epoch, works };
}

/** Takes one record into `works`; returns the highest epoch with it. */
export function foldRecord(works: Map<string, JournaledWork>, record: JournalRecord, epoch: number): number {
  switch (record.r) {
    case 'epoch':
      return Math.max(epoch, record.epoch);
    case 'accept':
      works.set(record.id, {
        containers: record.containers,
        state: { id: record.id, phase: 'Preparing', sequence: 1, preparedAt: record.at },
      });
      return epoch;
    case 'started': {
      const work = works.get(record.id);
      if (work?.state.phase === 'Preparing' || work?.state.phase === 'Running') {
        const state: WorkState = { ...work.state, phase: 'Running', sequence: record.sequence, startedAt: record.at };
        works.set(record.id, { ...work, state });
      }
      return epoch;
    }
    case 'saving': {
      const work = works.get(record.id);
      const { slot, order, end } = record;
      if (work !== undefined) works.set(record.id, { ...work, saving: { slot, order, end } });
      return epoch;
    }
    case 'end': {
      const work = works.get(record.state.id);
      works.set(record.state.id, { containers: work?.containers ?? [], state: record.state });
      return epoch;
    }
    case 'remove':
      works.delete(record.id);
      return epoch;
    default:
      return epoch;
  }
}

/** The shortest journal that says the same. */
export function compactJournal(contents: JournalContents): JournalRecord[] {
  const records: JournalRecord[] = [{ r: 'format', format: JOURNAL_FORMAT }];
  if (contents.epoch > 0) records.push({ r: 'epoch', epoch: contents.epoch });
  for (const [id, { containers, state, saving }] of contents.works) {
    records.push({ r: 'accept', id, at: state.preparedAt ?? 0, containers });
    if (state.phase === 'Running') {
      records.push({ r: 'started', id, at: state.startedAt ?? 0, sequence: state.sequence });
    } else if (state.phase !== 'Preparing') records.push({ r: 'end', state });
    if (saving !== undefined) records.push({ r: 'saving', id, ...saving });
  }
  return records;
}

export function encodeRecord(record: JournalRecord): string {
  return `${JSON.stringify(record)}\n`;
}
