/**
 * Tries to spend more than a cap: many callers at once send many times the requests that fit below the cap of one endpoint, each of which holds
 * exactly what it costs. What was charged is read from the endpoint and from a Budget over it, which are counted apart.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { openConnection, type Connection } from '../client.js';
import type { Figure, PartContext } from '../figure.js';
import { ask, unexpected } from '../load.js';
import { showUSD, USD } from '../../../src/money/usd.js';
import { inTurn, type Chat } from './target.js';
import { orgPath, type Troupe } from './troupe.js';

const REQUESTS = 2_000;
const CALLERS = 500;
const FIT = 100;
/** Eight tokens at 2,000 USD a million (`troupe.ts`). */
const COST = new USD('0.016');
const CHAT: Chat = { model: 'late', maxTokens: 8 };
const NAME = 'capped';
/** More at once than one endpoint takes: a caller who is told so asks again, so often at most. */
const AGAIN_MS = 20;
const MOST_TRIES = 500;
const LAST_MS = 15_000;
const LOOK_MS = 100;
/** Figures in statuses follow within a second. */
const SETTLE_MS = 2_000;

export async function overspend(context: PartContext, troupe: Troupe): Promise<readonly Figure[]> {
  const cap = COST.times(FIT);
  const labels = { bench: NAME };
  await troupe.addBudget(NAME, {
    limitUSD: '1000000.00',
    action: 'Block',
    scope: { selector: { matchLabels: labels } },
  });
  await troupe.addEndpoint(NAME, CHAT.model, { maxCostUSD: showUSD(cap) }, labels);
  const { admitted, refused, repeated } = await spend(troupe);
  const charged = await chargedBy(troupe, COST.times(admitted));
  context.log(
    `of ${REQUESTS} requests ${admitted} were admitted and ${refused} refused; ${repeated} more came too many at once`,
  );
  const over = charged.minus(cap);
  return [
    {
      name: `charged beyond the cap, ${CALLERS} callers at once`,
      value: Number(over.toFixed()),
      unit: 'USD',
      atMost: 0,
    },
    { name: `requests admitted, of ${REQUESTS} where ${FIT} fit`, value: admitted, unit: 'count' },
  ];
}

interface Spent {
  readonly admitted: number;
  /** By 402. */
  readonly refused: number;
  /** Answers of 429, after which the same request was sent again. */
  readonly repeated: number;
}

async function spend({ target, requestsOf }: Troupe): Promise<Spent> {
  const request = inTurn(requestsOf(NAME, CHAT));
  const spent = { admitted: 0, refused: 0, repeated: 0 };
  let next = 0;
  const connections = await Promise.all(Array.from({ length: CALLERS }, () => openConnection(target.port)));
  const callOne = async (connection: Connection, n: number): Promise<void> => {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const { status, body } = await replyOf(connection, request(n));
      if (status === 200) spent.admitted += 1;
      else if (status === 402) spent.refused += 1;
      else if (status !== 429) throw unexpected(status, body, 402);
      if (status !== 429) return;
      spent.repeated += 1;
      await sleep(AGAIN_MS);
    }
    throw new Error(`a request was refused by 429 ${MOST_TRIES} times`);
  };
  try {
    await Promise.all(
      connections.map(async (connection) => {
        for (let n = next++; n < REQUESTS; n = next++) await callOne(connection, n);
      }),
    );
    return spent;
  } finally {
    for (const connection of connections) connection.close();
  }
}

function replyOf(connection: Connection, request: Buffer): Promise<{ status: number; body: Buffer }> {
  return new Promise((done, fail) => {
    connection.send(request, (status, body) => done({ status, body }), fail);
  });
}

const usage24h = z.looseObject({ costUSD: z.string(), openHolds: z.number() });
const endpoint = z.looseObject({ status: z.looseObject({ usage24h: usage24h.optional() }).optional() });
const budget = z.looseObject({ status: z.looseObject({ spentUSD: z.string().optional() }).optional() });

/** The larger of both, once they have come to what the callers were answered, and a while later. */
async function chargedBy({ service }: Troupe, atLeast: USD): Promise<USD> {
  const read = async (collection: string): Promise<unknown> => {
    const { status, body } = await ask(service, service.request('GET', `${collection}/${NAME}`));
    if (status !== 200) throw unexpected(status, body, 200);
    return JSON.parse(body.toString('utf8'));
  };
  const usage = async (): Promise<z.infer<typeof usage24h> | undefined> =>
    endpoint.parse(await read(service.path('inferenceendpoints'))).status?.usage24h;
  const deadline = performance.now() + LAST_MS;
  const isWhole = ({ costUSD, openHolds }: z.infer<typeof usage24h>): boolean =>
    openHolds === 0 && atLeast.lte(costUSD);
  for (let now = await usage(); now === undefined || !isWhole(now); now = await usage()) {
    if (performance.now() > deadline) throw new Error('the endpoint does not say that it has been charged');
    await sleep(LOOK_MS);
  }
  await sleep(SETTLE_MS);
  const { spentUSD = '0' } = budget.parse(await read(orgPath('budgets'))).status ?? {};
  return USD.max((await usage())?.costUSD ?? '0', spentUSD, atLeast);
}
