/** Mails of Budgets from the ledger to a real SMTP server, over a real Postgres: each once, and what becomes of those that cannot be sent. */
import test, { type ExecutionContext } from 'ava';
import { sendMails } from '../../../actors/money/mails.js';
import { decodeObject } from '../../../src/api/encode.js';
import type { Address } from '../../../src/api/address.js';
import { openSmtp } from '../../../src/engines/mail/smtp.js';
import { budgetKind } from '../../../src/kinds/budget/index.js';
import type { BudgetStatus } from '../../../src/kinds/budget/schema.js';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import { openPostgres, type Postgres } from '../../../storage/postgres.js';
import { openMailRows, type MailRows } from '../../../storage/ledger/mails.js';
import { openTestDatabase } from '../../support/postgres.js';
import { openSmtpServer, type SmtpFixture } from '../../support/smtp-server.js';
import { openRuntime, ORG, until, type RuntimeFixture } from '../runtime-fixture.js';

const BUDGET: Address = { org: ORG, kind: 'Budget', project: '', name: 'team-a' };
const FROM = 'budgets@example.org';
const TERMS = { rateUSDPerHour: '36', incrementMs: 1, minimumUSD: '0.25', unitMs: 1_000, reserveMs: 1_000 };

async function openServer(t: ExecutionContext): Promise<SmtpFixture> {
  const server = await openSmtpServer();
  t.teardown(server.close);
  return server;
}

const engineOf = ({ port }: SmtpFixture) => openSmtp({ server: { host: '127.0.0.1', port, tls: 'Off' }, from: FROM });

async function statusOf(runtime: RuntimeFixture): Promise<BudgetStatus> {
  const body = await runtime.actors.resources.read(BUDGET, AbortSignal.timeout(20_000));
  if (body === undefined) throw new Error('there is no Budget');
  return decodeObject<unknown, BudgetStatus>(body).status;
}

const member = (runtime: RuntimeFixture, name: string, role: string) =>
  runtime.write(
    { org: ORG, kind: 'Member', project: '', name },
    { verb: 'create', body: { metadata: { name }, spec: { email: `${name}@example.org`, role } } },
  );

/** Is charged a quarter of a dollar. */
async function spend(runtime: RuntimeFixture, uid: string): Promise<void> {
  const holder = { uid, kind: 'Worker', project: 'default', name: uid };
  await runtime.ledger(
    { op: 'Place', key: uid, owner: holder, payer: { project: 'default', labels: {}, costs: [holder] }, terms: TERMS },
    { op: 'Bill', key: uid, segment: 'Running', from: Number.MAX_SAFE_INTEGER },
    { op: 'Release', key: uid },
  );
}

test('each recipient gets one mail for each threshold, and the Budget shows what became of them', async (t) => {
  const server = await openServer(t);
  server.refuse('dead@example.org', 550, '5.1.1 no such mailbox');
  const runtime = await openRuntime((await openTestDatabase(t)).url, {
    kinds: [budgetKind],
    mail: await engineOf(server),
  });
  t.teardown(() => runtime.drop());
  await member(runtime, 'olga', 'Owner');
  await member(runtime, 'bill', 'Billing');
  await member(runtime, 'dev', 'Developer');
  const emails = ['ada@example.org', 'ADA@example.org', 'olga@example.org', 'dead@example.org'];
  const spec = { limitUSD: '1', thresholds: [25, 50], period: 'Total', notify: { emails } };
  const made = await runtime.write(BUDGET, { verb: 'create', body: { metadata: { name: 'team-a' }, spec } });
  t.is(made.outcome, 'Done', JSON.stringify(made));

  await spend(runtime, 'one');
  await spend(runtime, 'two');
  const all = ['ada@example.org', 'bill@example.org', 'olga@example.org'];
  await until(() => server.received.length >= 2 * all.length, 'the mails arrive');
  await until(async () => {
    const { conditions = [] } = await statusOf(runtime);
    return conditions.some(({ reason, message }) => reason === 'MailFailed' && message.includes('50%'));
  }, 'the Budget hears of the last ones');
  const { conditions = [], notifiedThresholds } = await statusOf(runtime);
  t.deepEqual(notifiedThresholds, [25, 50]);
  t.is(
    conditions.find(({ type }) => type === 'NoticesMailed')?.message,
    '1 of 4 mails of the notice that 50% are spent could not be delivered: the mail server answers: 550 5.1.1 no such mailbox',
  );
  // Spending on, and a limit that is raised and lowered, reach the same thresholds again.
  for (const limitUSD of ['100', '0.5'])
    await runtime.write(BUDGET, { verb: 'patch', patch: { type: 'merge', patch: { spec: { limitUSD } } } });
  await spend(runtime, 'three').catch(() => {});
  await until(async () => (await unmade(runtime.store.postgres)) === 0, 'no threshold waits for its mails');
  for (const subject of ['25% of 1.00 USD', '50% of 1.00 USD'])
    t.deepEqual(
      server.received
        .filter(({ source }) => source.includes(`Subject: Budget team-a: ${subject} are spent`))
        .map(({ to }) => to.join().toLowerCase())
        .toSorted(),
      all,
    );
  t.is(server.received.length, 2 * all.length);
  const ids = server.received.map(({ source }) => /Message-ID: <(\S+)>/.exec(source)?.[1]);
  t.is(new Set(ids).size, ids.length);
  const text = server.received.at(-1)?.source ?? '';
  for (const part of ['Spent:', 'Held:', 'Left:', 'This Budget blocks', 'Figures of 20'])
    t.true(text.includes(part), text);
});

async function unmade(postgres: Postgres): Promise<number> {
  const [row] = await postgres.readRows<[number]>({
    name: 'unmailed',
    text: 'SELECT count(*) FROM thresholds WHERE NOT mailed',
  });
  return row?.[0] ?? 0;
}

/** A Budget in a database without actors: messages to it are kept. */
async function openAlone(t: ExecutionContext) {
  const { url } = await openTestDatabase(t);
  const server = await openServer(t);
  const runtime = await openRuntime(url, { kinds: [budgetKind] });
  const spec = { limitUSD: '10', action: 'Notify', notify: { emails: ['ada@example.org'] } };
  await runtime.write(BUDGET, { verb: 'create', body: { metadata: { name: 'team-a' }, spec } });
  const body = await runtime.actors.resources.read(BUDGET, AbortSignal.timeout(20_000));
  const { uid } = decodeObject(body ?? Buffer.from('{}')).metadata;
  await runtime.drop();
  const postgres = openPostgres({ url });
  t.teardown(() => postgres.close());
  const write = (text: string, values: readonly unknown[] = []) =>
    postgres.write({ name: text.slice(0, 60), text }, values);
  const told: ObjectMessage[] = [];
  const problems: string[] = [];
  const engine = await engineOf(server);
  return {
    ...{ server, postgres },
    write,
    told,
    problems,
    rows: openMailRows(postgres),
    reach: (threshold: number) =>
      write("INSERT INTO thresholds (org, budget, period, threshold) VALUES ($1, $2, '2026-11', $3)", [
        ORG,
        uid,
        threshold,
      ]),
    async mail() {
      const text = 'SELECT phase, tries, error, due > now() FROM mails ORDER BY made DESC, phase DESC LIMIT 1';
      return (await postgres.readRows<[string, number, string | null, boolean]>({ name: 'mail', text }))[0];
    },
    /** Until `done`. */
    async run(rows: MailRows, done: () => boolean | Promise<boolean>, mails = true): Promise<void> {
      const stopping = new AbortController();
      const running = sendMails(
        {
          ...{ rows, engine: mails ? engine : undefined },
          send: async (_to, _uid, content) => (told.push(content), 'Done'),
          onOutcome: () => {},
          onProblem: (message) => void problems.push(message),
        },
        stopping.signal,
      );
      await until(done, 'the mails are as they should be');
      stopping.abort();
      await running;
    },
  };
}

test('what cannot be sent is tried again later, and given up in the end; what is sent and not noted down is sent twice as one', async (t) => {
  const alone = await openAlone(t);
  const { server, rows, write, mail, run, reach, told } = alone;
  const due = () => write("UPDATE mails SET due = now() WHERE phase = 'Waiting'");

  server.refuse('ada@example.org', 451, '4.7.1 later');
  await reach(7);
  await run(rows, async () => (await mail())?.[1] === 1 && (await mail())?.[0] === 'Waiting');
  t.deepEqual(await mail(), ['Waiting', 1, null, true]);
  t.regex(alone.problems.join(), /^a mail could not be sent: 451 4.7.1 later$/);
  await write('UPDATE mails SET tries = 11');
  await due();
  await run(rows, () => told.length === 1);
  t.deepEqual(await mail(), ['Failed', 12, 'the mail server did not take it in 12 tries', false]);
  t.like(told[0], { type: 'NoticeMailed', threshold: 7, sent: 0, failed: 1 });

  server.accept('ada@example.org');
  await reach(8);
  let lost = 0;
  const crashing: MailRows = { ...rows, endMail: () => ((lost += 1), Promise.reject(new Error('gone'))) };
  await run(crashing, () => lost === 1);
  t.deepEqual((await mail())?.slice(0, 2), ['Waiting', 1], 'claimed: no other process sends it at once');
  await due();
  await run(rows, () => told.length === 2);
  const copies = server.received.filter(({ source }) => source.includes('8% of 10.00 USD'));
  t.is(copies.length, 2);
  t.is(new Set(copies.map(({ source }) => /Message-ID: <(\S+)>/.exec(source)?.[1])).size, 1);
  t.true(copies[0]?.source.includes('This Budget only notifies'));
  await run(rows, async () => (await mail())?.[0] === 'Sent');
  t.is(told.length, 2, 'once');
});

test('an org is sent so many mails in a day, and without a mail server none at all, also not later', async (t) => {
  const { server, postgres, rows, write, mail, run, reach, told } = await openAlone(t);
  await write(
    `INSERT INTO mails (org, budget, period, threshold, recipient, name, action, limit_usd, spent_usd, held_usd, phase, told, made)
     SELECT $1, 'other', 'total', 1, 'r' || i, 'other', 'Block', 1, 1, 0, 'Sent', true, now() - interval '1 hour'
     FROM generate_series(1, 1000) i`,
    [ORG],
  );
  await reach(9);
  await run(rows, () => told.length === 1);
  t.deepEqual((await mail())?.slice(0, 3), [
    'Failed',
    0,
    'this organization was sent 1000 mails within a day, which is the most',
  ]);
  await write("UPDATE mails SET made = made - interval '1 day'");

  await reach(10);
  await run(rows, async () => (await unmade(postgres)) === 0, false);
  await reach(11);
  await run(rows, () => told.length === 2);
  t.is(server.received.length, 1);
  t.like(told[1], { threshold: 11, sent: 1 });
});
