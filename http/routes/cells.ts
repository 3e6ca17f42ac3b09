/** Serves `…/cells`: the children of an object as rows, by index, a page at a time. Source: decisions, "Kinds not detailed" (Sweep). */
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import { refuse } from '../../src/api/refusal.js';
import type { Caller } from '../../actors/resource-service.js';
import type { CellRows } from '../../src/kinds/kind.js';
import type { SlotRow } from '../../src/kinds/machine.js';
import { addressOf } from '../auth/authorise.js';
import { badParameter } from '../bad-parameter.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { replyJson } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readBytes } from '../resources/read.js';
import { readLimit } from '../resources/versions.js';
import type { ServerContext } from '../server-context.js';

/** Cells of a page when the client does not say, and at most: each may have 128 KiB of parameters. */
const PAGE = 100;
const MOST = 500;
/** Bytes of a page, from which on it ends. */
const PAGE_BYTES = 4 * 2 ** 20;
/** Rows that are read at once. */
const ROWS = 1000;

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
  const object = decodeObject(await readBytes(context, kind, address));
  const first = readAfter(x);
  const limit = Math.min(readLimit(x.query.get('limit')) ?? PAGE, MOST);
  const phase = readPhase(x, cells.phases);
  const read = (from: number): Promise<readonly SlotRow[]> =>
    context.slots.from(address.org, object.metadata.uid, from, ROWS);
  const page = await readPage(object, cells, {
    first,
    limit,
    phase,
    read,
    slice: () => context.resources.slice(caller.org),
  });
  replyJson(x, 200, {
    items: page.items,
    ...(page.after === undefined ? {} : { continue: String(page.after) }),
  });
}

interface PageRequest {
  readonly first: number;
  readonly limit: number;
  readonly phase: string | undefined;
  read(from: number): Promise<readonly SlotRow[]>;
  slice(): Promise<void>;
}

interface Page {
  readonly items: readonly unknown[];
  /** Index of the last one, when there may be more. */
  readonly after: number | undefined;
}

/** Reads bounded chunks of rows until the page is full; a child without a row was never begun. */
async function readPage(
  object: ApiObject,
  cells: CellRows,
  { first, limit, phase, read, slice }: PageRequest,
): Promise<Page> {
  const count = cells.count(object);
  const items: unknown[] = [];
  let bytes = 0;
  for (let from = first; from < count; from += ROWS) {
    const rows = new Map((await read(from)).map((row) => [row.index, row]));
    for (let index = from; index < Math.min(count, from + ROWS); index += 1) {
      const row = rows.get(index);
      if (phase !== undefined && cells.phase(object, row) !== phase) continue;
      const cell = cells.cell(object, index, row);
      items.push(cell);
      bytes += JSON.stringify(cell).length;
      if (items.length < limit && bytes < PAGE_BYTES) continue;
      return { items, after: index + 1 < count ? index : undefined };
    }
    await slice();
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
