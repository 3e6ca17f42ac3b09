/**
 * Credits = paid − refunded − lost disputes, always. Three orgs buy at a local Stripe server that lives in this process and keeps its state, while
 * webhooks come late, twice, out of order or never, Stripe's API fails before and after effects, hangs and cuts connections, and the service is killed
 * by SIGKILL at random moments and between the effect of a call and its answer. Then the disturbances end, all that is open is decided, and what
 * the service says has to agree with Stripe's objects to the cent: each TopUp, each wallet, and the ledger's own auditor.
 *
 * `PAYMENT_CRASH_ROUNDS` (2) and `CRASH_SEED` (of the clock; printed) repeat or prolong a run. From 10 rounds on nothing but time brings the news
 * of the end: in fewer, the service is killed once more, and looks at Stripe when it starts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { BOOTSTRAP_ORG } from '../../src/api/access/role.js';
import { client, path, textAt } from '../e2e/client.js';
import { startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { openStripeServer, type Fault, type StripeServer } from '../payments/support/stripe-server.js';
import { openBuyers, TOPUPS, type Org } from './buyers.js';
import { chanceFrom, type Chance } from './chance.js';
import { openMessengers, type Messengers } from './messengers.js';
import { findingsOf } from './findings.js';
import { look, mistold, misstated, repeated, unbalanced } from './paid.js';
import { openPayers, type Payers } from './payers.js';

const ROUNDS = Number(process.env['PAYMENT_CRASH_ROUNDS'] ?? 2);
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
const WHOLE = ROUNDS >= 10;
/** Requests of customers and webhooks that are answered between two kills. */
const LEAST_DONE = 12;
const MORE_DONE = 30;
/** Between two things, and between the moment of a kill and the kill, at most (ms). */
const STEP_MS = 40;
const MOST_MS = 40;
/** At each step of payers: more would let no call through. */
const FAULT = 0.03;
/** A kill whose moment does not come is done all the same (ms). */
const MOMENT_MS = 4_000;
const PATIENCE_MS = 150_000;
const BOOTSTRAP_USD = 100;
const GRANTS = path('creditgrants', '');

const FAULTS: readonly Fault[] = [
  ...(['FailBefore', 'FailAfter', 'CutAfter', 'Truncate', 'Html', 'Empty', 'RateLimit', 'Conflict'] as const),
  ...(['FailBefore', 'FailAfter', 'CutAfter', 'CutAfter', 'Hang'] as const),
];
/** Of the calls that the service makes. */
const PATHS = ['/v1/checkout/sessions', '/v1/payment_intents', '/v1/refunds', '/v1/disputes', '/v1/events'];
/** What is done once only comes more often than what is looked at. */
const CALLS = [
  ...['POST /v1/checkout/sessions', 'POST /v1/checkout/sessions', 'POST /v1/payment_intents', 'POST /v1/refunds'],
  ...['GET /v1/checkout/sessions', 'GET /v1/payment_intents', 'GET /v1/refunds', 'GET /v1/events'],
];

async function openOrgs(service: Running): Promise<readonly Org[]> {
  const first: Org = { id: BOOTSTRAP_ORG, bootstrapUSD: BOOTSTRAP_USD, client: () => service.client() };
  const others = await Promise.all(
    ['acme', 'globex'].map(async (name): Promise<Org> => {
      const made = await service.client().post('/ops/v1/orgs', { name });
      if (made.status !== 201) throw new Error(made.text);
      const key = textAt(made.body, 'key');
      return { id: textAt(made.body, 'org'), bootstrapUSD: 0, client: () => client(service.url, key) };
    }),
  );
  return [first, ...others];
}

/** What goes on by itself until it is stopped: payers, messengers, and faults of Stripe. */
async function disturb(
  {
    server,
    payers,
    messengers,
    chance,
  }: { server: StripeServer; payers: Payers; messengers: Messengers; chance: Chance },
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    payers.step();
    messengers.carry();
    if (chance.is(FAULT)) {
      const fault = pick(FAULTS, chance);
      // A call that hangs takes the whole time that it may take.
      server.fail(pick(PATHS, chance), fault, fault === 'Hang' ? 1 : 1 + chance.below(4));
    }
    await delay(chance.below(STEP_MS));
  }
}

function pick<T>(from: readonly T[], chance: Chance): T {
  const found = from[chance.below(from.length)];
  if (found === undefined) throw new Error('there is nothing to choose from');
  return found;
}

/** What the kill waits for. */
type Moment =
  | { readonly at: 'Any' }
  /** A call has taken effect at Stripe, and was not answered yet. */
  | { readonly at: 'Call'; readonly path: string }
  /** A commit has changed an object of this collection. */
  | { readonly at: 'Commit'; readonly path: string };

function momentOf(chance: Chance): Moment {
  const fate = chance.below(10);
  if (fate < 4) return { at: 'Call', path: pick(CALLS, chance) };
  return fate < 8 ? { at: 'Commit', path: pick([TOPUPS, GRANTS], chance) } : { at: 'Any' };
}

/** Kills it at some moment or a little later; and perhaps once more as it starts. */
async function strike(service: Running, server: StripeServer, orgs: readonly Org[], chance: Chance): Promise<string> {
  const moment = momentOf(chance);
  const later = chance.is(0.5) ? chance.below(MOST_MS) : 0;
  const over = new AbortController();
  const come = new Promise<void>((resolve) => {
    const isNow = (): void => {
      if (over.signal.aborted) return;
      if (later === 0) service.signal('SIGKILL');
      resolve();
    };
    over.signal.addEventListener('abort', () => resolve(), { once: true });
    if (moment.at === 'Call') server.atNext(moment.path, isNow);
    else if (moment.at === 'Commit') for (const org of orgs) void atNextCommit(org, moment.path, isNow, over.signal);
    else resolve();
  });
  const timer = setTimeout(() => over.abort(), MOMENT_MS);
  await come;
  clearTimeout(timer);
  await delay(later);
  await service.kill();
  over.abort();
  const again = chance.is(0.25);
  if (again) {
    service.launch();
    await delay(chance.below(2_500));
    await service.kill();
  }
  await service.start();
  return `${moment.at === 'Any' ? 'any' : moment.path.replace(/^.*v1/, '')}+${later}${again ? ' twice' : ''}`;
}

/** Calls `act` when a watch says that something has changed. */
async function atNextCommit(org: Org, at: string, act: () => void, stop: AbortSignal): Promise<void> {
  try {
    const { url, key, get } = org.client();
    const version = textAt((await get(`${at}?limit=1`)).body, 'metadata', 'resourceVersion');
    const headers = { authorization: `Bearer ${key}` };
    const stream = await fetch(new URL(`${at}?watch=true&resourceVersion=${version}`, url), { headers, signal: stop });
    const { done = true } = (await stream.body?.getReader().read()) ?? {};
    if (!done) act();
  } catch {
    // It was killed, or this took too long.
  }
}

async function agreed(t: ExecutionContext, what: string, differs: () => Promise<readonly string[]>): Promise<void> {
  let last: readonly string[] = ['nobody has looked'];
  await until(what, async () => (last = await differs()).length === 0, PATIENCE_MS).catch((error: unknown) => {
    t.log(error);
  });
  t.deepEqual(last, [], what);
}

test.serial(
  `after ${ROUNDS} SIGKILLs, and whatever was lost or came twice, credits are what was paid less refunds and lost disputes`,
  async (t) => {
    t.timeout(ROUNDS * 60_000 + 600_000);
    t.log(`seed ${SEED}`);
    const chance = chanceFrom(SEED);
    const server = await openStripeServer();
    t.teardown(() => server.close());
    const env = {
      ...{ TROUPE_COMPUTE: 'off', TROUPE_WALLET: 'Prepaid', TROUPE_BOOTSTRAP_CREDITS: `${BOOTSTRAP_USD}.00` },
      ...{ STRIPE_SECRET_KEY: server.secretKey, STRIPE_WEBHOOK_SECRET: server.webhookSecret },
      ...{ TROUPE_STRIPE_URL: server.url, TROUPE_ADDRESS_REQUESTS_PER_SECOND: '1000000' },
    };
    const service = await startRunning(t, { env });
    const orgs = await openOrgs(service);
    const stop = new AbortController();
    t.teardown(() => stop.abort());
    const payers = openPayers(server, chanceFrom(SEED + 1));
    const messengers = openMessengers(service.url, server, chanceFrom(SEED + 2), stop.signal);
    const buyers = openBuyers(orgs, () => service.client(), chanceFrom(SEED + 3));
    const under = Promise.all([
      buyers.run(stop.signal),
      disturb({ server, payers, messengers, chance: chanceFrom(SEED + 4) }, stop.signal),
    ]);
    const struck: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const done = (): number => buyers.done() + messengers.taken();
      const goal = done() + LEAST_DONE + chance.below(MORE_DONE);
      await until(`${goal} things are done, in round ${round}`, () => done() >= goal, PATIENCE_MS);
      struck.push(await strike(service, server, orgs, chance));
    }
    stop.abort();
    await under;
    await messengers.rest();
    server.mend();
    t.log(`struck: ${struck.join(', ')}`);
    t.log(`${payers.summary()}; ${messengers.summary()}; ${buyers.summary()}`);

    // What happens from here on, no webhook tells.
    payers.finish();
    if (!WHOLE) {
      await service.kill();
      await service.start();
    }
    const settled = async (): Promise<readonly string[]> => {
      const isRest = payers.finish();
      const seen = await look(orgs);
      const found = [...misstated(server, seen), ...(await unbalanced(server, orgs))];
      return isRest ? found : [...found, 'something was decided just now'];
    };
    await agreed(t, 'each TopUp and wallet agrees with Stripe', settled);
    t.deepEqual(await findingsOf(service), [], 'the auditor');
    const seen = await look(orgs);
    t.deepEqual(repeated(server, seen, buyers), [], 'what came twice');
    t.deepEqual(await mistold(seen), [], 'events');
    t.deepEqual(await settled(), [], 'nothing has changed since');
    t.true([...server.account.intents.values()].some(({ status }) => status === 'succeeded'));
  },
);
