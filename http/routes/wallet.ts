/**
 * Serves `/apis/{g}/v1/wallet`, which reads live, and `…/wallet/entries`: the ledger of the org, oldest first, as JSON a page at a time or
 * whole as CSV or as FOCUS. What else is below the wallet is in files of its own. Source: decisions, "Kinds not detailed".
 */
import type { Caller } from '../../actors/resource-service.js';
import { refuse } from '../../src/api/refusal.js';
import { rfc3339Millis } from '../../src/api/time.js';
import { showUSD, sumUSD, USD, ZERO } from '../../src/money/usd.js';
import { COST } from '../../src/money/counters.js';
import type { LedgerEntry } from '../../storage/ledger/entries.js';
import { requireScope } from '../auth/authorise.js';
import { badParameter } from '../bad-parameter.js';
import type { Exchange } from '../exchange.js';
import { LongAnswer } from '../long-answer.js';
import { replyJson } from '../reply.js';
import { checkQueryNames } from '../query-names.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { readLimit } from '../resources/versions.js';
import type { ServerContext } from '../server-context.js';
import type { CollectionRouteTarget } from '../target.js';
import { FOCUS_COLUMNS, focusLine } from './focus.js';
import { isDetached } from './ledger-months.js';
import { patchWallet, readSettings } from './wallet-settings.js';
import { redeem } from './redemptions.js';
import { serveRunway } from './runway.js';
import { serveSpend } from './spend.js';
import { formatOf } from './wallet-format.js';

const SCOPE = 'billing:read';
/** Entries of a page when the client does not say. */
const PAGE = 100;
const MONTH = /^[1-9]\d{3}-(?:0[1-9]|1[0-2])$/;

const BELOW: ReadonlyMap<string, (x: Exchange, context: ServerContext, caller: Caller) => Promise<void>> = new Map([
  ['redemptions', redeem] as const,
  ['runway', serveRunway] as const,
  ['spend', serveSpend] as const,
]);

export async function serveWallet(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: CollectionRouteTarget,
): Promise<void> {
  const [below, ...rest] = target.rest;
  const other = BELOW.get(below ?? '');
  if (target.project !== undefined || rest.length > 0 || !(other || below === undefined || below === 'entries'))
    throw refuse('NotFound', 'an org has one wallet, and below it there are entries, redemptions, runway and spend');
  if (x.hasQuery) checkQueryNames(`wallet/${below ?? ''}`, x.query, x.url);
  if (other !== undefined) return other(x, context, caller);
  if (x.method === 'PATCH' && below === undefined) {
    await patchWallet(x, context, caller);
    return replyWallet(x, context, caller);
  }
  if (x.method !== 'GET') throw methodNotAllowed(x, below === undefined ? ['GET', 'PATCH'] : ['GET']);
  x.verb = below === undefined ? 'get' : 'list';
  requireScope(caller, SCOPE, '');
  if (below === undefined) return replyWallet(x, context, caller);
  const query = readQuery(x);
  const { month } = query;
  if (month !== undefined && (await context.ledger.months.find(month))?.state === 'Detached') throw isDetached(month);
  const format = formatOf(x, ['csv', 'json', 'focus']);
  if (format !== 'json') return streamCsv(x, context, caller, query, format);
  const limit = query.limit ?? PAGE;
  const items: Record<string, unknown>[] = [];
  let last: LedgerEntry | undefined;
  for await (const page of pagesOf(context, caller.org, query, limit)) {
    items.push(...page.map(viewOf));
    last = page.at(-1) ?? last;
  }
  replyJson(x, 200, { items, ...(last === undefined ? {} : { continue: String(last.position) }) }, NO_CACHE());
}

const NO_CACHE = (): Record<string, string> => ({ 'cache-control': 'no-cache, private' });

async function replyWallet(x: Exchange, context: ServerContext, caller: Caller): Promise<void> {
  const [{ mode, balanceUSD, heldUSD }, { shown: settings, etag }] = await Promise.all([
    context.ledger.wallet(caller.org),
    readSettings(context, caller, context.deadlines.current()),
  ]);
  const wallet = {
    mode,
    balanceUSD: showUSD(balanceUSD),
    heldUSD: showUSD(heldUSD),
    availableUSD: showUSD(USD.max(ZERO, balanceUSD.minus(heldUSD))),
    arrearsUSD: showUSD(USD.max(ZERO, balanceUSD.negated())),
    ...settings,
  };
  replyJson(x, 200, wallet, { ...NO_CACHE(), ...(etag !== undefined && { etag }) });
}

/** Entries that are made into text at once: longer ones would keep the requests of others waiting. */
const SLICE = 250;

/** As many as the limit says, at most, in slices that take turns with the lists of all orgs. */
async function* pagesOf(
  context: ServerContext,
  org: string,
  { after: from, month }: EntryQuery,
  limit: number,
): AsyncGenerator<readonly LedgerEntry[]> {
  let after = from;
  for (let left = limit; left > 0;) {
    await context.resources.slice(org);
    const page = Math.min(left, SLICE);
    const entries = await context.ledger.entries(org, after, page, context.deadlines.current(), month);
    if (entries.length > 0) yield entries;
    if (entries.length < page) return;
    left -= entries.length;
    after = entries.at(-1)?.position ?? after;
  }
}

interface EntryQuery {
  readonly after: number;
  readonly limit: number | undefined;
  readonly month: string | undefined;
}

function readQuery(x: Exchange): EntryQuery {
  const after = x.query.get('after') || '0';
  if (!/^\d{1,15}$/.test(after))
    throw badParameter('after', after, 'must be a cursor', 'Send `continue` of the page before as it came.');
  const month = x.query.get('month') || undefined;
  if (month !== undefined && !MONTH.test(month))
    throw badParameter('month', month, 'must be a month', 'Ask for month=2026-11, for example.');
  return { after: Number(after), limit: readLimit(x.query.get('limit')), month };
}

/** What the entry changes the balance by: the sum of its lines on grants and on the wallet. */
function balanceChange({ lines }: LedgerEntry): USD {
  const own = lines.filter(({ account }) => account === 'wallet' || account.startsWith('grants/'));
  return sumUSD(own.map(({ amountUSD }) => amountUSD));
}

/** uids of the objects whose `status.cost` counts it: of an Attempt also its Job, and what has made that. */
function costOf({ counters }: LedgerEntry): readonly string[] {
  return counters.flatMap((name) => (name.startsWith(COST) ? [name.slice(COST.length)] : []));
}

function viewOf(entry: LedgerEntry): Record<string, unknown> {
  const { position, key, time, reason, period, project, labels, owner, segment, amountUSD, coveredUSD, lines } = entry;
  return {
    ...{ id: String(position), key, time: rfc3339Millis(time), reason, period, project, labels, owner, segment },
    costOf: costOf(entry),
    amountUSD: shown(amountUSD),
    coveredUSD: shown(coveredUSD),
    balanceChangeUSD: showUSD(balanceChange(entry)),
    lines: lines.map((line) => ({ account: line.account, amountUSD: shown(line.amountUSD) })),
  };
}

function shown(amount: string): string {
  return showUSD(new USD(amount));
}

const COLUMNS = [
  ...['id', 'time', 'reason', 'period', 'project', 'labels', 'owner', 'segment'],
  ...['amountUSD', 'coveredUSD', 'balanceChangeUSD', 'key', 'costOf'],
];

/** Whole, or as many as the limit says, in pages of the ledger; a slow client waits on its socket. */
async function streamCsv(
  x: Exchange,
  context: ServerContext,
  { org }: Caller,
  query: EntryQuery,
  format: 'csv' | 'focus',
): Promise<void> {
  const { month, limit = Infinity } = query;
  const [columns, lineOf] =
    format === 'csv' ? [COLUMNS, csvLine] : [FOCUS_COLUMNS, (entry: LedgerEntry): string => focusLine(entry, org)];
  const name = `${format === 'csv' ? 'wallet' : 'focus'}${month === undefined ? '' : `-${month}`}.csv`;
  const headers = {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
  };
  const answer = new LongAnswer(x, { ...headers, ...NO_CACHE() }, 'WhenLong');
  const unfollow = context.revocation.follow(x, { allows: (asked) => asked.may(SCOPE, '') });
  try {
    await answer.write(`${columns.join(',')}\r\n`);
    for await (const entries of pagesOf(context, org, query, limit)) {
      if (answer.closed) break;
      await answer.write(entries.map(lineOf).join(''));
    }
    await answer.end('');
  } catch (error) {
    answer.abandon();
    throw error;
  } finally {
    unfollow();
  }
}

/** RFC 4180; the cells of `COLUMNS`. */
function csvLine(entry: LedgerEntry): string {
  const { position, time, reason, period, project = '', owner = '', segment = '', amountUSD, coveredUSD } = entry;
  const labels = Object.entries(entry.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const cells = [
    ...[String(position), rfc3339Millis(time), reason, period, project, labels.join(','), owner, segment],
    ...[shown(amountUSD), shown(coveredUSD), showUSD(balanceChange(entry)), entry.key, costOf(entry).join(' ')],
  ];
  return `${cells.map(quoted).join(',')}\r\n`;
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
