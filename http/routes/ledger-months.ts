/**
 * Serves `/ops/v1/ledger/months`: the months of posting, the export of one that is closed as lines of JSON, and the end of its postings here.
 * The last line of an export has the sums, and the SHA-256 of all lines before it. Only that hash detaches the month, so no posting goes that is
 * in no export.
 *
 * I10: a page of postings is in memory, read on when the client has taken it; it is a stream like others, and cut when it stalls.
 */
import { createHash } from 'node:crypto';
import type { Router } from '@koa/router';
import { OPERATOR_SCOPE } from '../../src/api/access/scope.js';
import { refuse } from '../../src/api/refusal.js';
import { rfc3339, rfc3339Millis } from '../../src/api/time.js';
import { sumUSD, USD, ZERO } from '../../src/money/usd.js';
import type { ExportedEntry, LedgerMonth } from '../../storage/ledger/months.js';
import { badParameter } from '../bad-parameter.js';
import { exchangeOf, type Exchange } from '../exchange.js';
import { LongAnswer } from '../long-answer.js';
import type { ServerContext } from '../server-context.js';

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** Precondition: who asks is an operator. */
export function ledgerMonthRoutes(router: Router, context: ServerContext): void {
  const { months } = context.ledger;

  async function closedMonth(name = ''): Promise<LedgerMonth> {
    const month = MONTH.test(name) ? await months.find(name) : undefined;
    if (month === undefined) throw refuse('NotFound', `the ledger has no month "${name.slice(0, 16)}"`);
    if (month.state === 'Open')
      throw refuse(
        'Conflict',
        `${name} is not closed: postings may still come, or GET /ops/v1/ledger says what differs`,
        {
          fix: 'Wait until an hour after its end, and look at /ops/v1/ledger/months.',
        },
      );
    return month;
  }

  router.get('/ops/v1/ledger/months', async (ctx) => {
    ctx.body = { items: (await months.list()).map(viewOf) };
  });

  router.get('/ops/v1/ledger/months/:month', async (ctx) => {
    const month = await closedMonth(ctx.params['month']);
    if (month.state === 'Detached') throw isDetached(month.month);
    ctx.respond = false;
    await exportMonth(exchangeOf(ctx.res), context, month);
  });

  router.delete('/ops/v1/ledger/months/:month', async (ctx) => {
    const { month } = await closedMonth(ctx.params['month']);
    const sha256 = new URLSearchParams(ctx.querystring).get('sha256') ?? '';
    const fix = `Export it (GET /ops/v1/ledger/months/${month}), and send the sha256 of the last line that you have kept.`;
    if (!SHA256.test(sha256))
      throw badParameter('sha256', sha256, 'must be the SHA-256 of an export, in hexadecimal', fix);
    if (!(await months.detach(month, sha256)))
      throw refuse('Conflict', `the last whole export of ${month} had another SHA-256, or there was none`, { fix });
    ctx.body = viewOf((await months.find(month)) ?? { month, state: 'Detached' });
  });
}

/** The refusal of a request for the entries of a detached month. */
export function isDetached(month: string): Error {
  return refuse('NotFound', `the entries of ${month} were exported by the operator, and are not kept here any more`, {
    fix: 'Ask the operator of the service for them.',
  });
}

function viewOf({ month, state, postings, lines, closedAt, sha256, exportedAt, detachedAt }: LedgerMonth): object {
  const time = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : rfc3339(ms));
  return {
    ...{ month, state, postings, lines, closedTime: time(closedAt), sha256 },
    ...{ exportedTime: time(exportedAt), detachedTime: time(detachedAt) },
  };
}

async function exportMonth(
  x: Exchange,
  context: ServerContext,
  { month, postings, lines }: LedgerMonth,
): Promise<void> {
  const { months } = context.ledger;
  const headers = {
    'content-type': 'application/x-ndjson',
    'content-disposition': `attachment; filename="ledger-${month}.ndjson"`,
    'cache-control': 'no-store',
  };
  const answer = new LongAnswer(x, headers, 'WhenLong');
  const release = context.streams.add(x, {
    allows: (asked) => asked.may(OPERATOR_SCOPE, ''),
    end: () => answer.abandon(),
  });
  const hash = createHash('sha256');
  const sums = new Sums();
  try {
    for await (const page of months.read(month, x.gone)) {
      const text = page.map(lineOf).join('');
      sums.add(page);
      hash.update(text);
      await answer.write(text);
      if (answer.closed) return;
    }
    if (x.gone.aborted) return;
    if (sums.postings !== postings || sums.lines !== lines)
      throw new Error(`${month} has ${sums.postings} postings, and had ${postings} when it was closed`);
    const sha256 = hash.digest('hex');
    // Stored before the last line is sent: a client that has that line can detach the month by it.
    await months.exported(month, sha256);
    await answer.end(`${JSON.stringify({ month, ...sums.shown(), sha256 })}\n`);
  } catch (error) {
    answer.abandon();
    throw error;
  } finally {
    release();
  }
}

function lineOf(entry: ExportedEntry): string {
  const { org, position, time, key, reason, period, project, labels, owner, segment, counters } = entry;
  const { amountUSD, coveredUSD, lines } = entry;
  const about = { key, reason, period, project, labels, owner, segment, counters, amountUSD, coveredUSD, lines };
  return `${JSON.stringify({ org, id: String(position), time: rfc3339Millis(time), ...about })}\n`;
}

/** What the postings of an export come to. */
class Sums {
  postings = 0;
  lines = 0;
  readonly #accounts = new Map<string, USD>();

  add(entries: readonly ExportedEntry[]): void {
    this.postings += entries.length;
    for (const { account, amountUSD } of entries.flatMap((entry) => entry.lines)) {
      this.lines += 1;
      // All grants together: there may be any number of them.
      const name = account.startsWith('grants/') ? 'grants' : account;
      this.#accounts.set(name, (this.#accounts.get(name) ?? ZERO).plus(amountUSD));
    }
  }

  /** The accounts add up to zero. */
  shown(): object {
    const accounts = Object.fromEntries([...this.#accounts].map(([name, amount]) => [name, amount.toFixed()]));
    return {
      postings: this.postings,
      lines: this.lines,
      accounts,
      sumUSD: sumUSD([...this.#accounts.values()]).toFixed(),
    };
  }
}
