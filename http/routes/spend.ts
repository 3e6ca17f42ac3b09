/**
 * Serves `GET …/wallet/spend`: what the org has spent between two times, by day (UTC), project and one label, as JSON or CSV. A day is the one on
 * which it was posted. The rows add up to the total, except for what is in months that were detached, which are named.
 *
 * I10: at most 400 days and 10,000 rows; more is refused.
 */
import type { Caller } from '../../actors/resource-service.js';
import { checkLabelKey } from '../../src/api/names.js';
import { refuse } from '../../src/api/refusal.js';
import { parseTime, rfc3339, rfc3339Millis } from '../../src/api/time.js';
import { showUSD, sumUSD } from '../../src/money/usd.js';
import type { SpendQuery, SpendRow } from '../../storage/ledger/spend.js';
import { requireScope } from '../auth/authorise.js';
import { badParameter } from '../bad-parameter.js';
import { csvLine } from '../csv.js';
import type { Exchange } from '../exchange.js';
import { reply, replyJson } from '../reply.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import type { ServerContext } from '../server-context.js';
import { wantsCsv } from './wallet-format.js';

const DAY_MS = 86_400_000;
const MOST_DAYS = 400;
const MOST_ROWS = 10_000;
const DATE = /^\d{4}-\d\d-\d\d$/;
const BY_FIX = 'Ask for by=day, by=project, by=label:<key>, or several of them with commas between.';
const NARROW = 'Ask for a shorter time by from and to, or for fewer words in by.';

export async function serveSpend(x: Exchange, context: ServerContext, caller: Caller): Promise<void> {
  if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
  x.verb = 'list';
  requireScope(caller, 'billing:read', '');
  const csv = wantsCsv(x);
  const query = { ...readTimes(x, context.clock()), ...readBy(x) };
  const missing = await missingMonths(context, query);
  const rows = await context.ledger.spend.rows(caller.org, query, MOST_ROWS + 1, context.deadlines.current());
  if (rows.length > MOST_ROWS)
    throw refuse('Invalid', `the spending of that time has more than ${MOST_ROWS} rows`, {
      causes: [{ field: 'by', reason: 'FieldValueInvalid', message: `gives more than ${MOST_ROWS} rows` }],
      fix: NARROW,
    });
  if (csv) return replyCsv(x, query, rows, missing);
  const total = { amountUSD: sumOf(rows, 'amountUSD'), coveredUSD: sumOf(rows, 'coveredUSD') };
  replyJson(
    x,
    200,
    {
      ...{ from: rfc3339Millis(query.from), to: rfc3339Millis(query.to), by: query.by },
      items: rows.map((row) => viewOf(row, query)),
      ...{ total, missingMonths: missing },
    },
    { 'cache-control': 'no-cache, private' },
  );
}

type Asked = SpendQuery & { readonly by: readonly string[] };

function sumOf(rows: readonly SpendRow[], what: 'amountUSD' | 'coveredUSD'): string {
  return showUSD(sumUSD(rows.map((row) => row[what])));
}

function viewOf(row: SpendRow, { day, project, label }: Asked): object {
  return {
    ...(day && { day: row.day }),
    ...(project && { project: row.project }),
    ...(label !== undefined && { label: row.label }),
    ...{ amountUSD: showUSD(row.amountUSD), coveredUSD: showUSD(row.coveredUSD) },
  };
}

function replyCsv(x: Exchange, query: Asked, rows: readonly SpendRow[], missing: readonly string[]): void {
  if (missing.length > 0)
    x.warnings.push(`the postings of ${missing.join(', ')} are not kept here any more, and are not in these sums`);
  const cells = ({ day, project, label, amountUSD, coveredUSD }: SpendRow): string[] => [
    ...(query.day ? [day] : []),
    ...(query.project ? [project] : []),
    ...(query.label === undefined ? [] : [label]),
    ...[showUSD(amountUSD), showUSD(coveredUSD)],
  ];
  const columns = [
    ...(query.day ? ['day'] : []),
    ...(query.project ? ['project'] : []),
    ...(query.label === undefined ? [] : [`label:${query.label}`]),
    ...['amountUSD', 'coveredUSD'],
  ];
  reply(x, 200, [columns, ...rows.map(cells)].map(csvLine).join(''), {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="spend.csv"',
    'cache-control': 'no-cache, private',
  });
}

/** Until now, and from the beginning of that month, when they are not said. */
function readTimes(x: Exchange, now: number): { readonly from: number; readonly to: number } {
  const to = readTime(x, 'to') ?? now;
  const from = readTime(x, 'from') ?? Date.parse(`${rfc3339(to).slice(0, 7)}-01T00:00:00Z`);
  if (from > to)
    throw badParameter('from', x.query.get('from') ?? '', 'must not be later than to', 'Change from, or to.');
  if (to - from > MOST_DAYS * DAY_MS)
    throw badParameter(
      'from',
      x.query.get('from') ?? '',
      `must be at most ${MOST_DAYS} days before to`,
      `Ask for a shorter time: ${MOST_DAYS} days at most.`,
    );
  return { from, to };
}

function readTime(x: Exchange, name: 'from' | 'to'): number | undefined {
  const text = x.query.get(name) || undefined;
  if (text === undefined) return undefined;
  const time = parseTime(DATE.test(text) ? `${text}T00:00:00Z` : text);
  if (time !== undefined && time >= 0) return time;
  const fix = `Ask for ${name}=2026-11-01 or ${name}=2026-11-01T12:00:00Z, for example; what is at "to" is not in it.`;
  throw badParameter(name, text, 'must be a day (UTC) or an RFC 3339 time', fix);
}

function readBy(x: Exchange): Pick<Asked, 'by' | 'day' | 'project' | 'label'> {
  const text = x.query.get('by') || 'day';
  const by = text.split(',');
  const labels = by.filter((word) => word.startsWith('label:')).map((word) => word.slice('label:'.length));
  const known = by.every((word) => word === 'day' || word === 'project' || word.startsWith('label:'));
  if (!known || new Set(by).size < by.length || labels.length > 1)
    throw badParameter('by', text, 'may name day, project and one label:<key>, each of them once', BY_FIX);
  const [label] = labels;
  const complaint = label === undefined ? undefined : checkLabelKey(label);
  if (complaint !== undefined) throw badParameter('by', text, `must name a label, whose key ${complaint}`, BY_FIX);
  return { by, day: by.includes('day'), project: by.includes('project'), label };
}

/** Of that time. */
async function missingMonths({ ledger }: ServerContext, { from, to }: Asked): Promise<readonly string[]> {
  const [first, last] = [rfc3339(from).slice(0, 7), rfc3339(Math.max(from, to - 1)).slice(0, 7)];
  const months = await ledger.months.list();
  return months
    .filter(({ month, state }) => state === 'Detached' && month >= first && month <= last)
    .map(({ month }) => month);
}
