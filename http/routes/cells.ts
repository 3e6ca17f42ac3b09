/**
 * Serves `…/cells`: the children of an object as rows, by index, a page at a time. Source: decisions, "Kinds not detailed" (Sweep).
 *
 * I10: a page ends at PAGE_SIZE, is made in slices of the event loop, and holds a place until its client has it (`answer-places.ts`).
 */
import type { ApiObject } from '../../src/api/object.js';
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import type { CellRows } from '../../src/kinds/kind.js';
import type { SlotRow } from '../../src/kinds/machine.js';
import { freeWithAnswer } from '../answer-places.js';
import { addressOf } from '../auth/authorise.js';
import { badParameter } from '../bad-parameter.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { JSON_TYPE, reply } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readBytes } from '../resources/read.js';
import { readLimit } from '../resources/versions.js';
import type { ServerContext } from '../server-context.js';

/** Cells of a page when the client does not say, and at most: each may have 128 KiB of parameters. */
const PAGE = 100;
const MOST = 500;
/** Characters of a page, from which on it ends. One cell is always on it. */
const PAGE_SIZE = 256 * 1024;
/** Rows that are read at once. */
const ROWS = 1000;
/** Cells that are looked at in one slice of the event loop, and characters of them that are written. */
const SLICE_ROWS = 250;
const SLICE_CELLS = 50;
const SLICE_SIZE = 64 * 1024;

export async function serveCells(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  { kind, project, name, rest }: SubresourceTarget,
): Promise<void> {
  const { cells } = kind;
  if (rest.length > 0 || cells === undefined) throw refuse('NotFound', 'cells has no subpaths');
  if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
  x.verb = 'list';
  const address = addressOf(caller, kind, project, name, 'read');
  const first = readAfter(x);
  const limit = Math.min(readLimit(x.query.get('limit')) ?? PAGE, MOST);
  const phase = readPhase(x, cells.phases);
  const place = await context.answerPlaces.take(caller.org, AbortSignal.any([x.gone, context.deadlines.current()]));
  try {
    const object = await context.decodedObjects.of(x, address, await readBytes(context, kind, address));
    const { uid } = object.metadata;
    const page = await readPage(object, cells, {
      first,
      limit,
      phase,
      gone: x.gone,
      read: (from) => context.rowTurn(caller.org, () => context.slots.from(caller.org, uid, from, ROWS)),
      slice: () => context.resources.slice(caller.org),
    });
    const more = page.after === undefined ? '' : `,"continue":"${page.after}"`;
    reply(x, 200, `{"items":[${page.items.join(',')}]${more}}`, { 'content-type': JSON_TYPE });
  } catch (error) {
    place.free();
    throw error;
  }
  freeWithAnswer(place, x.res);
}

interface PageRequest {
  readonly first: number;
  readonly limit: number;
  readonly phase: string | undefined;
  readonly gone: AbortSignal;
  read(from: number): Promise<readonly SlotRow[]>;
  slice(): Promise<void>;
}

interface Page {
  /** JSON of each. */
  readonly items: readonly string[];
  /** Index of the last one, when there may be more. */
  readonly after: number | undefined;
}

/** Reads bounded chunks of rows until the page is full; a child without a row was never begun. */
async function readPage(
  object: ApiObject,
  cells: CellRows,
  { first, limit, phase, gone, read, slice }: PageRequest,
): Promise<Page> {
  const count = cells.count(object);
  const items: string[] = [];
  let size = 0;
  for (let from = first; from < count; from += ROWS) {
    const stored = await read(from);
    await slice();
    const rows = new Map(stored.map((row) => [row.index, row]));
    let inSlice = { rows: 0, cells: 0, size: 0 };
    for (let index = from; index < Math.min(count, from + ROWS); index += 1) {
      if (inSlice.rows >= SLICE_ROWS || inSlice.cells >= SLICE_CELLS || inSlice.size >= SLICE_SIZE) {
        await slice();
        gone.throwIfAborted();
        inSlice = { rows: 0, cells: 0, size: 0 };
      }
      inSlice.rows += 1;
      const row = rows.get(index);
      if (phase !== undefined && cells.phase(object, row) !== phase) continue;
      const cell = JSON.stringify(cells.cell(object, index, row));
      // What does not fit begins the next page.
      if (items.length > 0 && size + cell.length > PAGE_SIZE) return { items, after: index - 1 };
      items.push(cell);
      size += cell.length;
      inSlice.cells += 1;
      inSlice.size += cell.length;
      if (items.length === limit) return { items, after: index + 1 < count ? index : undefined };
    }
  }
  return { items, after: undefined };
}

/** The index behind which the page begins. */
function readAfter(x: Exchange): number {
  const after = x.query.get('after') ?? '';
  if (after === '') return 0;
  if (/^\d{1,9}$/.test(after)) return Number(after) + 1;
  throw badParameter('after', after, 'must be the index of a cell', 'Send `continue` of the page before as it came.');
}

function readPhase(x: Exchange, phases: readonly string[]): string | undefined {
  const phase = x.query.get('phase') ?? '';
  if (phase === '' || phases.includes(phase)) return phase || undefined;
  throw badParameter(
    'phase',
    phase,
    `must be one of ${phases.join(', ')}`,
    `Ask for phase=${phases[0] ?? ''}, for example.`,
  );
}
