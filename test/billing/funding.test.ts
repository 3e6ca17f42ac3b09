/**
 * What becomes of running work when its money ends, and when there is money again, at a running service with a steep price book: everything
 * costs 1 USD a second, holds last for 3 seconds and have 5 more for a graceful end, so a first hold is 8 USD.
 */
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { listAt, objectOf, path, textAt, valueAt, type Client } from '../e2e/client.js';
import { startRunning, type Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { ATTEMPTS, JOBS, sh, SMALL } from '../jobs/jobs.js';
import { SANDBOXES } from '../sandboxes/sandboxes.js';
import { isListed } from '../support/proc.js';
import { PIPELINES, SWEEPS } from '../parents/parents.js';

const BUDGETS = path('budgets', '');
const WORKSPACES = path('workspaces', 'default');
/** On a busy machine what takes a second may take many. */
const LONG_MS = 90_000;

const STEEP = `pricebookVersion: 'steep'
offerings:
  cpu-local: { perHourUSD: '3600', holdSeconds: 3, reserveSeconds: 5 }
storage: { perGiBMonthUSD: '0' }
images: { perBuildMinuteUSD: '0' }
models: {}
`;
/** The first epoch runs until it is asked to end, and says so; the next ones end at once. */
const ENDS_WHEN_ASKED = sh(
  'trap "echo asked; exit 0" TERM; if [ "$SVC_EPOCH" -gt 1 ]; then exit 0; fi; while :; do sleep 0.1; done',
);

const prices = mkdtempSync(join(tmpdir(), 'troupe-prices-'));
let service: Running;
let owner: Client;
test.before(async (t) => {
  t.timeout(120_000);
  const book = join(prices, 'pricebook.yaml');
  writeFileSync(book, STEEP);
  service = await startRunning(undefined, { env: { TROUPE_PRICEBOOK: book, TROUPE_UNFUNDED_GRACE: '5' } });
  owner = service.client();
});
test.after.always(async () => {
  await service?.close();
  rmSync(prices, { recursive: true, force: true });
});

async function post(at: string, kind: string, name: string, spec: object, metadata: object = {}): Promise<void> {
  const answer = await owner.post(at, objectOf(kind, name, spec, metadata));
  if (answer.status !== 201) throw new Error(`create of ${kind} ${name} answered ${answer.status}: ${answer.text}`);
}

async function set(at: string, spec: object): Promise<void> {
  const answer = await owner.merge(at, { spec });
  if (answer.status !== 200) throw new Error(answer.text);
}

async function once(at: string, what: string, holds: (object: unknown) => boolean): Promise<unknown> {
  let last: unknown;
  try {
    return await until(
      `${at} ${what}`,
      async () => {
        last = (await owner.get(at)).body;
        return holds(last) ? last : undefined;
      },
      LONG_MS,
    );
  } catch (error) {
    throw new Error(`last seen: ${JSON.stringify(valueAt(last, 'status'))}`, { cause: error });
  }
}

const budget = (team: string, limitUSD: string): Promise<void> =>
  post(BUDGETS, 'Budget', team, { limitUSD, period: 'Total', scope: { selector: { matchLabels: { team } } } });
const phaseIs = (phase: string) => (object: unknown) => textAt(object, 'status', 'phase') === phase;
const outcomeOf = (object: unknown): string =>
  `${textAt(object, 'status', 'phase')} ${textAt(object, 'status', 'reason')}`;

function condition(object: unknown, type: string): string {
  const found = listAt(object, 'status', 'conditions').find((each) => textAt(each, 'type') === type);
  return `${textAt(found, 'status')} ${textAt(found, 'reason')}`;
}

/** Types of the events of an object that tell of money, in their order. */
async function moneyEvents(object: string): Promise<readonly string[]> {
  const { body } = await owner.get(`${path('events', 'default')}?object=${encodeURIComponent(object)}`);
  return listAt(body, 'items')
    .map((event) => textAt(event, 'type'))
    .filter((type) => /funding|max_cost/.test(type));
}

async function attempts(label: string): Promise<readonly unknown[]> {
  return listAt((await owner.get(`${ATTEMPTS}?labelSelector=${encodeURIComponent(label)}`)).body, 'items');
}

/** I7: what was spent never passed the limit. */
async function isWithin(t: ExecutionContext, at: string, limit: number): Promise<void> {
  const spent = Number(valueAt((await owner.get(at)).body, 'status', 'spentUSD') ?? NaN);
  t.true(spent > 0 && spent <= limit, `${spent} of ${limit}`);
}

test.serial('work that waits for money is woken by the process that comes after a crash, too', async (t) => {
  await budget('kept', '10');
  await post(JOBS, 'Job', 'kept', { command: ENDS_WHEN_ASKED, resources: SMALL }, { labels: { team: 'kept' } });
  await once(`${JOBS}/kept`, 'waits', (job) => condition(job, 'Funded').startsWith('False'));
  await service.kill();
  await service.start();
  t.is((await attempts('svc.dev/job=kept')).length, 1);
  await set(`${BUDGETS}/kept`, { limitUSD: '60' });
  await once(`${JOBS}/kept`, 'ends', phaseIs('Succeeded'));
  t.is((await attempts('svc.dev/job=kept')).length, 2);
});

test.serial(
  'work of which no service says that it is paid any longer ends by itself, and begins anew when one comes back',
  async (t) => {
    const [renewed, young] = [`old${randomInt(1e9)}`, `young${randomInt(1e9)}`];
    const begin = (job: string, program: string): Promise<void> => {
      const script = `trap "exit 0" TERM; if [ "$SVC_EPOCH" -gt 1 ]; then exit 0; fi; cp "$(command -v sleep)" ${program}; ./${program} 600 & wait`;
      return post(
        JOBS,
        'Job',
        job,
        { command: sh(script), resources: SMALL, maxCostUSD: '26' },
        { labels: { team: 'away' } },
      );
    };
    await budget('away', '90');
    await begin('renewed', renewed);
    await once(`${JOBS}/renewed`, 'is paid further', (job) => Number(valueAt(job, 'status', 'cost', 'totalUSD')) > 1);
    await begin('young', young);
    await until('it runs', () => isListed(young));
    await service.kill();
    t.true(isListed(renewed) && isListed(young), 'they go on at first');
    await until('both have ended', () => !isListed(renewed) && !isListed(young), LONG_MS);
    await service.start();
    // What is left below the cap may be less than a first hold.
    for (const job of ['renewed', 'young']) await set(`${JOBS}/${job}`, { maxCostUSD: '60' });
    for (const job of ['renewed', 'young']) {
      await once(`${JOBS}/${job}`, 'ends', phaseIs('Succeeded'));
      const [first, second] = await attempts(`svc.dev/job=${job}`);
      t.deepEqual([outcomeOf(first), outcomeOf(second)], ['Failed FundingUnknown', 'Succeeded Completed']);
      t.is(textAt(first, 'status', 'interruption', 'trigger'), 'Funding');
    }
    await isWithin(t, `${BUDGETS}/away`, 90);
  },
);

test('a Budget that is made under a running Job shows its spending within seconds, and made again without room for it ends it gracefully', async (t) => {
  const work = { command: ENDS_WHEN_ASKED, resources: SMALL };
  await post(JOBS, 'Job', 'late', work, { labels: { team: 'late' } });
  // Nothing limits it, so it is paid for minutes ahead.
  const heldBy = async (): Promise<number> =>
    Number(valueAt((await owner.get(`${JOBS}/late`)).body, 'status', 'cost', 'heldUSD'));
  await until('it is paid far ahead', async () => (await heldBy()) > 100, LONG_MS);
  const spec = { limitUSD: '900', scope: { selector: { matchLabels: { team: 'late' } } } };
  await post(BUDGETS, 'Budget', 'late', spec);
  const bound = await once(
    `${BUDGETS}/late`,
    'counts what is held',
    (one) => Number(valueAt(one, 'status', 'heldUSD')) > 100,
  );
  t.true(Number(valueAt(bound, 'status', 'spentUSD')) > 0);
  t.is(textAt((await owner.get(`${JOBS}/late`)).body, 'status', 'phase'), 'Running');

  t.is((await owner.remove(`${BUDGETS}/late`)).status, 200);
  await post(BUDGETS, 'Budget', 'late', { ...spec, limitUSD: '1' });
  const waiting = await once(`${JOBS}/late`, 'waits', (job) => condition(job, 'Funded').startsWith('False'));
  t.is(outcomeOf(waiting), 'Pending BudgetExceeded');
  t.regex((await owner.get(`${JOBS}/late/logs`)).text, /asked/);
  const [attempt] = await attempts('svc.dev/job=late');
  t.is(outcomeOf(attempt), 'Cancelled Unfunded');
  const spent = await until(
    'all is posted',
    async () => {
      const { body } = await owner.get(`${BUDGETS}/late`);
      const total = textAt((await owner.get(`${JOBS}/late`)).body, 'status', 'cost', 'totalUSD');
      return valueAt(body, 'status', 'heldUSD') === '0.00' && textAt(body, 'status', 'spentUSD') === total
        ? total
        : undefined;
    },
    LONG_MS,
  );
  t.true(Number(spent) > 1, 'all that the Job has cost in this month, though the Budget is younger');
  await set(`${BUDGETS}/late`, { limitUSD: '900' });
  await once(`${JOBS}/late`, 'ends', phaseIs('Succeeded'));
});

test('a Sandbox and a Workspace that run out of money stop with their files saved, and start again only by a client', async (t) => {
  await budget('box', '30');
  const labels = { team: 'box' };
  const note = sh('echo epoch $SVC_EPOCH >> /workspace/note; exec sleep infinity');
  const box = { image: 'svc/agent-tools', command: note, resources: SMALL };
  await post(SANDBOXES, 'Sandbox', 'box', box, { labels });
  await once(`${SANDBOXES}/box`, 'runs', phaseIs('Running'));
  await post(path('volumes', 'default'), 'Volume', 'home', { size: '1Gi', accessMode: 'ReadWriteOnce' });
  const desk = { volume: 'home', tools: ['SSH'], resources: SMALL, maxCostUSD: '25' };
  await post(WORKSPACES, 'Workspace', 'desk', desk);

  const stopped = await once(`${SANDBOXES}/box`, 'stops', phaseIs('Stopped'));
  t.is(outcomeOf(stopped), 'Stopped BudgetExceeded');
  t.is(textAt(stopped, 'spec', 'state'), 'Stopped');
  t.is(condition(stopped, 'Funded'), 'False BudgetExceeded');
  t.is(condition(stopped, 'StateSaved'), 'True Saved');
  t.regex(textAt(stopped, 'status', 'message'), /^Stopped: Budget "box" refused more money/);
  await isWithin(t, `${BUDGETS}/box`, 30);
  const refused = await owner.merge(`${SANDBOXES}/box`, { spec: { state: 'Running' } });
  t.is(refused.status === 402 ? textAt(refused.body, 'reason') : refused.text, 'BudgetExceeded');
  await set(`${BUDGETS}/box`, { limitUSD: '900' });
  t.is(textAt((await owner.get(`${SANDBOXES}/box`)).body, 'status', 'phase'), 'Stopped');
  await set(`${SANDBOXES}/box`, { state: 'Running' });
  const again = await once(`${SANDBOXES}/box`, 'runs', phaseIs('Running'));
  t.is(condition(again, 'Funded'), 'True Funded');
  await until('it has its files', async () => {
    const file = await owner.get(`${SANDBOXES}/box/files?path=%2Fworkspace%2Fnote`);
    return file.text.includes('epoch 1') && file.text.includes('epoch 2');
  });
  t.deepEqual(await moneyEvents('Sandbox/box'), ['sandbox.funding_lost', 'sandbox.funding_restored']);
  t.is((await owner.remove(`${SANDBOXES}/box`)).status, 200);

  const over = await once(`${WORKSPACES}/desk`, 'stops', phaseIs('Stopped'));
  t.is(outcomeOf(over), 'Stopped MaxCostReached');
  t.is(condition(over, 'Funded'), 'False MaxCostReached');
  t.is(condition(over, 'StateSaved').split(' ')[0], 'True');
  t.true(Number(valueAt(over, 'status', 'cost', 'totalUSD')) <= 25);
  await set(`${WORKSPACES}/desk`, { maxCostUSD: '900', state: 'Running' });
  await once(`${WORKSPACES}/desk`, 'runs', phaseIs('Running'));
  t.deepEqual(await moneyEvents('Workspace/desk'), ['workspace.max_cost_reached', 'workspace.funding_restored']);
  t.is((await owner.remove(`${WORKSPACES}/desk`)).status, 200);
});

test('a Job and a Sandbox that reach their own cap rest with MaxCostReached, and go on when it is raised', async (t) => {
  await post(JOBS, 'Job', 'capped', { command: ENDS_WHEN_ASKED, resources: SMALL, maxCostUSD: '20' });
  const box = { image: 'svc/agent-tools', resources: SMALL, maxCostUSD: '20' };
  await post(SANDBOXES, 'Sandbox', 'capped', box);
  const suspended = await once(`${JOBS}/capped`, 'is suspended', phaseIs('Suspended'));
  t.is(outcomeOf(suspended), 'Suspended MaxCostReached');
  t.is(textAt(suspended, 'spec', 'state'), 'Running');
  t.is(condition(suspended, 'Funded'), 'False MaxCostReached');
  await set(`${JOBS}/capped`, { maxCostUSD: '60' });
  const done = await once(`${JOBS}/capped`, 'ends', phaseIs('Succeeded'));
  t.true(Number(valueAt(done, 'status', 'cost', 'totalUSD')) <= 60);
  t.deepEqual(await moneyEvents('Job/capped'), ['job.max_cost_reached']);
  const stopped = await once(`${SANDBOXES}/capped`, 'stops', phaseIs('Stopped'));
  t.is(outcomeOf(stopped), 'Stopped MaxCostReached');
  t.deepEqual(await moneyEvents('Sandbox/capped'), ['sandbox.max_cost_reached']);
  t.is((await owner.remove(`${SANDBOXES}/capped`)).status, 200);
});

test('a cap that the cells of a Sweep or the stages of a Pipeline share suspends all of them, and raising it resumes them', async (t) => {
  const template = { spec: { command: ENDS_WHEN_ASKED, resources: SMALL } };
  await post(SWEEPS, 'Sweep', 'shared', { template, repetitions: 3, maxParallel: 2, maxCostUSD: '40' });
  const stages = ['a', 'b'].map((name) => ({ name, template: template.spec }));
  await post(PIPELINES, 'Pipeline', 'shared', { stages, maxCostUSD: '40' });
  for (const [at, kind] of [
    [`${SWEEPS}/shared`, 'Sweep'],
    [`${PIPELINES}/shared`, 'Pipeline'],
  ] as const) {
    const suspended = await once(at, 'is suspended', phaseIs('Suspended'));
    t.is(outcomeOf(suspended), 'Suspended MaxCostReached');
    t.is(textAt(suspended, 'spec', 'state'), 'Running');
    const jobs = listAt((await owner.get(JOBS)).body, 'items').filter((job) =>
      listAt(job, 'metadata', 'ownerReferences').some(
        (one) => textAt(one, 'kind') === kind && textAt(one, 'name') === 'shared',
      ),
    );
    t.deepEqual(jobs.map(phaseIs('Suspended')), [true, true]);
    await set(at, { maxCostUSD: '400' });
  }
  for (const at of [`${SWEEPS}/shared`, `${PIPELINES}/shared`]) await once(at, 'goes on', phaseIs('Running'));
  // The third cell runs in its first epoch, which ends only when it is asked to.
  const done = await once(`${PIPELINES}/shared`, 'ends', phaseIs('Succeeded'));
  t.true(Number(valueAt(done, 'status', 'cost', 'totalUSD')) > 0);
  await once(`${SWEEPS}/shared`, 'has two cells', (sweep) => valueAt(sweep, 'status', 'succeeded') === 2);
  t.deepEqual(await moneyEvents('Sweep/shared'), ['sweep.max_cost_reached']);
  t.deepEqual(await moneyEvents('Pipeline/shared'), ['pipeline.max_cost_reached']);
  t.is((await owner.remove(`${SWEEPS}/shared`)).status, 200);
});

test('what is refused before it has begun is made as soon as what others held is given back', async (t) => {
  // Each holds 8: there is money for three cells, and for two indexes, at a time.
  await budget('cells', '30');
  const labels = { team: 'cells' };
  const template = { spec: { command: ['sleep', '1'], resources: SMALL } };
  await post(SWEEPS, 'Sweep', 'cells', { template, repetitions: 4, maxParallel: 4 }, { labels });
  const one = { completions: 3, parallelism: 3, command: ['sleep', '1'], resources: SMALL, maxCostUSD: '22' };
  await post(JOBS, 'Job', 'indexes', one);
  const job = await once(`${JOBS}/indexes`, 'ends', (seen) => phaseIs('Succeeded')(seen));
  t.true(Number(valueAt(job, 'status', 'cost', 'totalUSD')) <= 22);
  await once(`${SWEEPS}/cells`, 'ends', phaseIs('Succeeded'));
  await isWithin(t, `${BUDGETS}/cells`, 30);
  t.deepEqual(await moneyEvents('Sweep/cells'), ['sweep.funding_lost', 'sweep.funding_restored']);
  // As `kubectl events --for budget/cells` asks.
  const selector = encodeURIComponent('involvedObject.kind=Budget,involvedObject.name=cells');
  const shown = await owner.get(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
  t.true(listAt(shown.body, 'items').some((event) => textAt(event, 'reason') === 'Exceeded'));
});
