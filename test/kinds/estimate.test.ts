/** What work would cost by a price book: pure, with exact amounts. */
import test from 'ava';
import type { KindDefinition } from '../../src/kinds/kind.js';
import { admitTerms, parseTerms, readTerms, showAdmitted, showTerms } from '../../src/kinds/attempts/terms.js';
import { estimateWork, refuseRate } from '../../src/kinds/estimate.js';
import { jobKind } from '../../src/kinds/job/index.js';
import { SlotTable } from '../../src/kinds/job/slots.js';
import type { Message } from '../../src/kinds/machine.js';
import { pipelineKind } from '../../src/kinds/pipeline/index.js';
import { sandboxKind } from '../../src/kinds/sandbox/index.js';
import type { Run } from '../../src/kinds/run-times.js';
import type { Estimate } from '../../src/kinds/shapes/status.js';
import { sweepKind } from '../../src/kinds/sweep/index.js';
import { workspaceKind } from '../../src/kinds/workspace/index.js';
import { parsePriceBook, type PriceBook } from '../../src/money/price-book.js';
import { contextAt, NOW, objectOf } from './decide.js';

/** 0.36 USD for a CPU, so that a second of it is 0.0001. Memory is free. */
const BOOK = bookOf("{ perCpuHourUSD: '0.36' }");

function bookOf(offering: string, version = 'v1'): PriceBook {
  const read = parsePriceBook(
    `pricebookVersion: ${version}\nofferings: { cpu-local: ${offering} }\n` +
      "storage: { perGiBMonthUSD: '0' }\nimages: { perBuildMinuteUSD: '0' }\nmodels: {}\n",
  );
  if (read.outcome !== 'Read') throw new Error(read.lines.join('\n'));
  return read.book;
}

function estimateOf(kind: KindDefinition, spec: object, book: PriceBook = BOOK): Estimate {
  const work = kind.pricedWork?.(objectOf(kind, spec));
  if (work === undefined) throw new Error(`${kind.kind} has no price`);
  return estimateWork(work, book, NOW);
}

/** A start takes 1 s (p50) or 5 s (p90), and the teardown 1 s: 2 or 6 seconds for each run. */
test('a Job costs its indexes at the rate of what it asks for, with their starts; it holds two minutes of each at once', (t) => {
  const spec = { command: ['x'], completions: 10, parallelism: 4, resources: { cpu: '2' }, expectedDuration: '98s' };
  const estimate = estimateOf(jobKind, spec);
  t.like(estimate, {
    rateUSDPerHour: '0.72',
    holdUSD: '0.024',
    concurrentHoldUSD: '0.096',
    minimumChargeUSD: '0.00',
    overheadUSD: { p50: '0.004', p90: '0.012' },
    costUSD: { p50: '0.20', p90: '0.404' },
    pricebookVersion: 'v1',
    validUntil: '2026-01-02T03:19:05Z',
    warnings: [],
    startup: { cold: { p50: '1s', p90: '5s' }, warm: { p50: '100ms', p90: '1s' } },
  });
  t.like(estimate.placementPreview, { offering: 'cpu-local', regionClass: 'local', interruptible: false });
  t.regex(String(estimate.placementPreview?.explain?.['reason']), /2 CPU and 0\.5 GiB of memory at 0\.72 USD per hour/);
  t.is(estimate.blockingReasons, undefined);
});

test('what a Job costs is bounded by its timeout, and a Job that says neither counts a minute and warns', (t) => {
  const cost = (spec: object) => estimateOf(jobKind, { command: ['x'], ...spec }).costUSD;
  t.deepEqual(cost({ timeout: '100s' }), { p50: '0.0052', p90: '0.0106' });
  t.deepEqual(cost({ activeDeadlineSeconds: 100 }), { p50: '0.0052', p90: '0.0106' });
  t.deepEqual(cost({ timeout: '100s', expectedDuration: '80s' }), { p50: '0.0082', p90: '0.0106' });
  // Ten indexes, two at once, share 100 seconds: 20 seconds each.
  t.deepEqual(cost({ timeout: '100s', completions: 10, parallelism: 2, expectedDuration: '1h' }), {
    p50: '0.022',
    p90: '0.026',
  });
  const unknown = estimateOf(jobKind, { command: ['x'] });
  t.deepEqual(unknown.costUSD, { p50: '0.0062', p90: '0.0066' });
  t.deepEqual(
    unknown.warnings?.map(({ code }) => code),
    ['DurationUnknown'],
  );
});

test('a minimum charge is paid by each Attempt and held when it is more than a minute', (t) => {
  const estimate = estimateOf(
    jobKind,
    { command: ['x'], completions: 3, parallelism: 3, expectedDuration: '1s' },
    bookOf("{ perCpuHourUSD: '0.36', minimumUSD: '0.50' }"),
  );
  t.like(estimate, { minimumChargeUSD: '1.50', holdUSD: '0.506', concurrentHoldUSD: '1.518' });
  t.deepEqual(estimate.costUSD, { p50: '1.50', p90: '1.50' });
});

test('a Sandbox is expected to run until it is idle, and for its lifetime at most; a Workspace by its schedule', (t) => {
  t.deepEqual(estimateOf(sandboxKind, { image: 'svc/agent-tools' }).costUSD, { p50: '0.0302', p90: '8.6406' });
  const lifecycle = { idleTimeout: '0s', maxLifetime: '100s' };
  t.deepEqual(estimateOf(sandboxKind, { image: 'svc/agent-tools', lifecycle }).costUSD, {
    p50: '0.0102',
    p90: '0.0106',
  });
  t.deepEqual(estimateOf(workspaceKind, { ephemeral: true }).costUSD, { p50: '0.3602', p90: '8.6406' });
  const schedule = { readyBy: '2026-01-01T01:00:00Z', stopAt: '2026-01-01T01:45:00Z' };
  t.deepEqual(estimateOf(workspaceKind, { ephemeral: true, schedule }).costUSD, { p50: '0.3602', p90: '0.3606' });
});

test('a Sweep sums its cells, and what it holds at once is that of the cells that may run together', (t) => {
  const estimate = estimateOf(sweepKind, {
    matrix: { params: { A: ['1', '2', '3'], B: ['1', '2'] } },
    maxParallel: 4,
    template: { spec: { command: ['x'], completions: 2, parallelism: 2, expectedDuration: '98s' } },
  });
  t.like(estimate, {
    rateUSDPerHour: '2.88',
    holdUSD: '0.012',
    concurrentHoldUSD: '0.096',
    costUSD: { p50: '0.12', p90: '0.2424' },
    overheadUSD: { p50: '0.0024', p90: '0.0072' },
  });
});

test('a Pipeline sums its stages, over their defaults, and the largest of them may run together', (t) => {
  const spec = {
    defaults: { command: ['x'], expectedDuration: '98s' },
    maxParallel: 2,
    stages: [
      { name: 'a' },
      { name: 'b', template: { resources: { cpu: '4' } } },
      { name: 'c', template: { completions: 3, parallelism: 3, expectedDuration: '198s' } },
    ],
  };
  t.like(estimateOf(pipelineKind, spec), {
    rateUSDPerHour: '2.52',
    holdUSD: '0.048',
    concurrentHoldUSD: '0.084',
    costUSD: { p50: '0.11', p90: '0.2216' },
    warnings: [],
  });
  t.is(estimateOf(pipelineKind, { ...spec, maxParallel: undefined }).concurrentHoldUSD, '0.096');
});

/** Each took 1 s to start and 1 s to go. */
const ran = (...seconds: number[]): readonly Run[] =>
  seconds.map((runSeconds) => ({ bootMs: 1_000, runMs: runSeconds * 1_000, teardownMs: 1_000 }));

function learnedOf(kind: KindDefinition, spec: object, runs: Readonly<Record<string, readonly Run[]>>): Estimate {
  const work = kind.pricedWork?.(objectOf(kind, spec));
  if (work === undefined) throw new Error(`${kind.kind} has no price`);
  return estimateWork(work, BOOK, NOW, (like) => runs[like]);
}

const likeOf = (spec: object): string => jobKind.pricedWork?.(objectOf(jobKind, spec)).parts[0]?.like ?? '';
const codesOf = ({ warnings = [] }: Estimate): readonly string[] => warnings.map(({ code }) => code);

test('an estimate is from like work that has run, whatever the spec expects, and says when there is little of it', (t) => {
  const runs = ran(5, 1, 2, 4, 3, 10, 7, 8, 9, 6);
  const learned = (spec: object, from = runs) =>
    learnedOf(jobKind, { command: ['x'], ...spec }, { [likeOf({ command: ['x'] })]: from });
  const estimate = learned({ expectedDuration: '1h', completions: 2 });
  t.deepEqual(estimate.costUSD, { p50: '0.0014', p90: '0.0022' }, '7 s and 11 s, twice');
  t.deepEqual(estimate.overheadUSD, { p50: '0.0004', p90: '0.0004' });
  t.deepEqual(estimate.startup?.cold, { p50: '1s', p90: '1s' });
  t.deepEqual(codesOf(estimate), []);
  t.deepEqual(learned({ timeout: '4s' }).costUSD, { p50: '0.0006', p90: '0.0006' }, 'no run may take longer now');
  t.deepEqual(codesOf(learned({}, ran(1, 2))), ['LittleHistory']);
  t.regex(learned({}, ran(1)).warnings?.[0]?.message ?? '', /how long spec runs from one run of like work/);
  t.deepEqual(codesOf(learned({}, [])), ['DurationUnknown'], 'nothing is known');
  t.deepEqual(learned({}, ran(1)).costUSD, learned({}, ran(1)).costUSD);
  t.notDeepEqual(learned({}, ran(1)).costUSD, learned({}, ran(2)).costUSD, 'what is learned later counts');
});

test('like is what runs the same program on the same image and amounts; cells, stages and Jobs are like each other', (t) => {
  const job = { command: ['x'], args: ['1'] };
  const same = [
    { env: [{ name: 'A', value: '1' }] },
    { completions: 9 },
    { timeout: '1h' },
    { resources: { cpu: '1' } },
  ];
  for (const more of same) t.is(likeOf({ ...job, ...more }), likeOf(job), JSON.stringify(more));
  const other = [{ command: ['y'] }, { args: ['2'] }, { resources: { cpu: '2' } }, { image: 'svc/workspace-cpu' }];
  for (const more of other) t.not(likeOf({ ...job, ...more }), likeOf(job), JSON.stringify(more));
  t.true(likeOf({ command: ['x'.repeat(10_000)] }).length <= 200);

  const runs = { [likeOf(job)]: ran(8, 8, 8, 8, 8) };
  const sweep = learnedOf(sweepKind, { matrix: { params: { A: ['1', '2', '3'] } }, template: { spec: job } }, runs);
  t.deepEqual(sweep.costUSD, { p50: '0.003', p90: '0.003' });
  t.deepEqual(codesOf(sweep), []);
  const stages = [{ name: 'a' }, { name: 'b', template: { resources: { cpu: '4' }, expectedDuration: '98s' } }];
  const pipeline = learnedOf(pipelineKind, { defaults: job, stages }, runs);
  t.deepEqual(pipeline.costUSD, { p50: '0.041', p90: '0.0818' }, '10 s of one CPU, and 100 or 202 s of four');
  t.deepEqual(pipeline.startup?.cold, { p50: '1s', p90: '5s' }, 'the one that nothing is known of may take longest');

  const sandbox = { image: 'svc/agent-tools', lifecycle: { idleTimeout: '0s', maxLifetime: '1m' } };
  const like = sandboxKind.pricedWork?.(objectOf(sandboxKind, sandbox)).parts[0]?.like ?? '';
  t.deepEqual(learnedOf(sandboxKind, sandbox, { [like]: ran(100) }).costUSD, { p50: '0.0062', p90: '0.0062' });
  const schedule = { readyBy: '2026-01-01T01:00:00Z', stopAt: '2026-01-01T01:45:00Z' };
  const scheduled = workspaceKind.pricedWork?.(objectOf(workspaceKind, { ephemeral: true, schedule }));
  t.is(scheduled?.parts[0]?.like, undefined, 'it ends when its schedule says');
});

test('an image that may have to be fetched first is a cold start, until like work has run', (t) => {
  const spec = { command: ['x'], image: 'debian:12', expectedDuration: '1m' };
  t.deepEqual(codesOf(estimateOf(jobKind, spec)), ['ColdStart']);
  t.regex(estimateOf(jobKind, spec).warnings?.[0]?.message ?? '', /^image debian:12 may have to be fetched/);
  t.deepEqual(codesOf(learnedOf(jobKind, spec, { [likeOf(spec)]: ran(1, 1, 1, 1, 1) })), []);
  t.deepEqual(codesOf(estimateOf(jobKind, { ...spec, image: 'svc/agent-tools' })), []);
});

test('work whose rate is above what it accepts is refused where that is written, with both rates', (t) => {
  const target = { kind: 'Job', name: 'dear' };
  const refusalOf = (kind: KindDefinition, spec: object): readonly string[] => {
    const work = kind.pricedWork?.(objectOf(kind, spec));
    const refusal = work && refuseRate(work, BOOK, target);
    t.true(refusal === undefined || refusal.code === 'PriceConsentRequired');
    return (refusal?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
  };
  const placed = (maxRateUSDPerHour: string): object => ({ command: ['x'], placement: { maxRateUSDPerHour } });
  t.deepEqual(refusalOf(jobKind, placed('0.36')), []);
  t.deepEqual(refusalOf(jobKind, placed('0.359999999')), [
    'spec.placement.maxRateUSDPerHour: the rate is 0.36 USD per hour, above the 0.359999999 that is accepted at most',
  ]);
  t.is(refusalOf(sweepKind, { template: { spec: placed('0.10') } }).length, 1);
  t.deepEqual(
    refusalOf(pipelineKind, {
      defaults: placed('0.10'),
      stages: [{ name: 'a' }, { name: 'b' }, { name: 'c', template: placed('0.20') }],
    }).map((line) => line.split(':')[0]),
    ['spec.defaults.placement.maxRateUSDPerHour', 'spec.stages[2].template.placement.maxRateUSDPerHour'],
  );
  const preview = estimateOf(jobKind, placed('0.10')).placementPreview;
  t.is(preview?.offering, undefined);
  t.regex(JSON.stringify(preview?.explain), /above the 0\.10 that is accepted/);
});

test('terms are read as they were written, and terms of which a part is missing cost nothing for it', (t) => {
  for (const [amounts, book] of [
    [{ milliCpu: 2000, memory: 2 ** 30, disk: 0 }, BOOK],
    [{ milliCpu: 1, memory: 1, disk: 0 }, bookOf("{ perCpuHourUSD: '0.36', minimumUSD: '0.01' }", 'v3')],
  ] as const) {
    const admitted = admitTerms(amounts, book);
    t.deepEqual(parseTerms(showTerms(admitted)), admitted);
    t.is(showAdmitted(amounts, book), showTerms(admitted));
  }
  const none = { offering: 'cpu-local', pricebookVersion: '', rateUSDPerHour: '0.00', minimumUSD: '0.00' };
  t.like(parseTerms(''), { ...none, incrementMs: 1000 });
  t.like(parseTerms('increment=1m,rate=0.5'), { ...none, rateUSDPerHour: '0.5', incrementMs: 60_000 });
  t.is(readTerms(undefined), undefined);
});

test('an Attempt carries the terms that its Job was admitted at, whatever the prices are when it is made', (t) => {
  const job = objectOf(jobKind, { command: ['x'], completions: 2, resources: { cpu: '2' } });
  const table = jobKind.machine.sideState?.open([]) as SlotTable;
  const current = { address: { org: 'o', kind: 'Job', project: 'default', name: 'one' }, object: job };
  const created = jobKind.machine.decide(
    { ...current, private: undefined },
    table,
    { type: 'Created' },
    {
      ...contextAt(),
      prices: BOOK,
    },
  );
  if (created.outcome !== 'Next') throw new Error(created.outcome);
  for (const change of created.changes ?? []) jobKind.machine.sideState?.apply(table, change);
  const dearer = { ...contextAt(), prices: bookOf("{ perCpuHourUSD: '9' }", 'v2') };
  const woken = jobKind.machine.decide({ ...current, private: created.private }, table, { type: 'Activated' }, dearer);
  const made = [created, woken].map((decision) => {
    const effects = decision.outcome === 'Next' ? [...decision.effects, ...(decision.volatile ?? [])] : [];
    const more = decision.outcome === 'Volatile' ? decision.volatile : [];
    const child = [...effects, ...more].find((effect) => effect.type === 'CreateChild');
    return child?.type === 'CreateChild' ? readTerms(child.annotations) : undefined;
  });
  const terms = {
    offering: 'cpu-local',
    pricebookVersion: 'v1',
    rateUSDPerHour: '0.72',
    incrementMs: 1000,
    minimumUSD: '0.00',
    unitMs: 60_000,
    reserveMs: 60_000,
  };
  t.deepEqual(made, [terms, terms]);
  t.is(readTerms({}), undefined);
});

test('a write that starts a Sandbox or Workspace holds money for it first; a start of its own asks nobody who could be refused', (t) => {
  for (const [kind, spec] of [
    [sandboxKind, { image: 'python:3.12' }],
    [workspaceKind, { ephemeral: true }],
  ] as const) {
    const held = (state: string, message: Message, kept?: object): readonly string[] => {
      const object = objectOf(
        kind,
        { maxCostUSD: '5.00', ...spec, state },
        { creationTimestamp: '2026-01-02T03:00:00Z' },
      );
      const current = {
        address: { org: 'o', kind: kind.kind, project: 'default', name: 'one' },
        object,
        private: kept,
      };
      const decision = kind.machine.decide(current, undefined, message, { ...contextAt(), prices: BOOK });
      const effects = decision.outcome === 'Next' ? decision.effects : [];
      t.is(effects.filter(({ type }) => type === 'CreateChild').length, state === 'Running' ? 1 : 0, kind.kind);
      return effects.flatMap((effect) => (effect.type === 'Money' ? [effect.operation.op] : []));
    };
    const rests = { epoch: 1, timers: {}, lost: 0, requests: {}, terms: 0 };
    const before = objectOf(kind, { maxCostUSD: '5.00', ...spec, state: 'Stopped' });
    const uncapped = objectOf(kind, { ...spec, state: 'Running' });
    t.deepEqual(held('Running', { type: 'Created' }), ['SetCap', 'Release', 'Place']);
    t.deepEqual(held('Stopped', { type: 'Created' }), ['SetCap']);
    t.deepEqual(held('Stopped', { type: 'Updated', before: uncapped }, rests), ['SetCap']);
    t.deepEqual(held('Running', { type: 'Updated', before }, rests), ['Release', 'Place']);
    t.deepEqual(held('Running', { type: 'TimerFired', timer: 'start', generation: 1 }, rests), []);
  }
});
