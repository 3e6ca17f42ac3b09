/** What single messages of Attempts do to a Job: notes that come and go, and Attempts that nobody waits for. Pure. */
import test from 'ava';
import type { LaterEffect } from '../../../src/kinds/effect.js';
import type { JobStatus } from '../../../src/kinds/job/status.js';
import type { HoldRefusal } from '../../../src/money/operation.js';
import { showTerms } from '../../../src/kinds/attempts/terms.js';
import { ADDRESS, Job } from './one-job.js';

test('what keeps the outputs of one index is said until that index has ended, and not longer', (t) => {
  const job = new Job();
  job.hear(0, 1, 'Running');
  job.hear(1, 1, 'Running');
  t.is(job.hear(0, 1, 'Running', { unsaved: 'the store is full' }), 'Next');
  t.regex(job.collected ?? '', /^False index 0 has run, .*the store is full$/);
  t.is(job.hear(0, 1, 'Running', { unsaved: 'the store is full' }), 'Ignored', 'it is known');
  t.is(job.hear(0, 1, 'Running', { unsaved: 'still full' }), 'Next', 'for another reason');
  job.hear(1, 1, 'Succeeded');
  t.regex(job.collected ?? '', /^False/, 'another index has ended');
  job.hear(0, 1, 'Succeeded');
  t.is(job.collected, 'True all outputs were collected');
});

test('an Attempt of an older epoch that still works is told to stop, and one that has ended or is yet to come is not', (t) => {
  const job = new Job();
  job.hear(0, 1, 'Running');
  job.hear(0, 1, 'Failed', { reason: 'CustomerExit', exitCode: 1 });
  for (const phase of ['Queued', 'Provisioning', 'Running']) {
    t.is(job.hear(0, 1, phase), 'Volatile', phase);
    t.like(job.sent[0], { type: 'Tell', message: { type: 'StopAttempt', epoch: 1, reason: 'Released' } });
  }
  for (const phase of ['Succeeded', 'Failed', 'Cancelled']) t.is(job.hear(0, 1, phase), 'Ignored', phase);
  t.is(job.hear(0, 9, 'Running'), 'Ignored', 'an epoch that was never begun');
  t.is(job.hear(7, 1, 'Running'), 'Ignored', 'an index that was never begun');
});

test('what is only said again costs no commit, and what there is nothing to say of nothing at all', (t) => {
  const job = new Job();
  job.hear(0, 1, 'Running');
  job.hear(1, 1, 'Running');
  t.is(job.decide({ type: 'Activated' }), 'Volatile');
  t.deepEqual(
    job.sent.map(({ type }) => type),
    ['CreateChild', 'Tell', 'CreateChild', 'Tell'],
  );
  job.hear(0, 1, 'Succeeded');
  job.hear(1, 1, 'Succeeded');
  job.decide({ type: 'Activated' });
  t.deepEqual(job.sent, []);
});

test('an output that could not be collected is said of the Job that succeeded, the first of them by name', (t) => {
  const job = new Job();
  const outputs = [{ name: 'model', error: 'is no regular file' }];
  job.hear(0, 1, 'Running');
  job.hear(1, 1, 'Running');
  t.is(job.hear(0, 1, 'Succeeded', { outputs }), 'Next');
  job.hear(1, 1, 'Succeeded', { outputs });
  t.regex(job.collected ?? '', /^False .*model of index 0: is no regular file/);
  const clean = new Job();
  for (const index of [0, 1]) clean.hear(index, 1, 'Succeeded');
  t.is(clean.collected, undefined);
});

test('a Job whose Attempts all wait says why, each reason once, and not once one of them has its place', (t) => {
  const job = new Job();
  const message = (): string | undefined => (job.object.status as JobStatus).message;
  t.is(job.hear(0, 1, 'Queued'), 'Ignored', 'there is no reason yet');
  t.is(job.hear(0, 1, 'Queued', { reason: 'WaitingForCapacity', message: 'no memory is free' }), 'Next');
  t.regex(message() ?? '', /no memory is free/);
  t.is(job.hear(1, 1, 'Queued', { reason: 'WaitingForCapacity', message: 'no memory is free' }), 'Ignored');
  job.hear(0, 1, 'Provisioning');
  t.notRegex(message() ?? '', /no memory is free/);
  t.is(job.hear(1, 1, 'Queued', { reason: 'WaitingForCapacity', message: 'no memory is free' }), 'Ignored');
});

test('the first note of its image holds for all indexes, and none is taken of a Job that has ended', (t) => {
  const pinned = (job: Job, digit: string): string => {
    const content = { type: 'ImagePinned', epoch: 1, digest: `sha256:${digit.repeat(64)}` } as const;
    const address = { ...ADDRESS, kind: 'Attempt', name: 'attempt' };
    return job.decide({ type: 'MessageReceived', from: { address, uid: 'a', version: 1 }, content });
  };
  const job = new Job();
  t.is(pinned(job, 'a'), 'Next');
  t.is(pinned(job, 'b'), 'Ignored');
  const ended = new Job();
  for (const index of [0, 1]) ended.hear(index, 1, 'Succeeded');
  t.is((ended.object.status as JobStatus).phase, 'Succeeded');
  t.is(pinned(ended, 'a'), 'Ignored');
});

const shortfall = (more: Partial<HoldRefusal> = {}): HoldRefusal => ({
  ...{ key: 'a', by: 'Budget', uid: 'b', name: 'team-a', counter: 'budget/b/total', limitUSD: '2.00' },
  ...{ availableUSD: '0.00', neededUSD: '0.50', ...more },
});

const waits = (job: Job): readonly LaterEffect[] => job.volatile.filter(({ type }) => type === 'AwaitMoney');

test('indexes that money has stopped wait for more of it, and the Job says why until they run again', (t) => {
  const job = new Job();
  job.hear(0, 1, 'Running');
  job.hear(1, 1, 'Running');
  job.hear(0, 1, 'Cancelled', { reason: 'Unfunded', shortfall: shortfall() });
  job.hear(1, 1, 'Cancelled', { reason: 'Unfunded', shortfall: shortfall() });
  const status = (): JobStatus => job.object.status as JobStatus;
  t.like(status(), { phase: 'Pending', reason: 'BudgetExceeded', failed: 0 });
  t.like(
    status().conditions?.find(({ type }) => type === 'Funded'),
    { status: 'False', reason: 'BudgetExceeded' },
  );
  const wait = { type: 'AwaitMoney', counter: 'budget/b/total', neededUSD: '0.50', above: '2.00' };
  t.like(waits(job)[0], { ...wait, count: 2 });
  job.decide({ type: 'TimerFired', timer: 'retry', generation: 1 });
  t.is(status().phase, 'Pending');
  t.is(job.made.length, 0, 'nothing is tried before it is woken');

  t.is(job.tell({ type: 'MoneyFreed', counter: 'budget/b/total', stopped: false, count: 2 }), 'Ignored');
  job.tell({ type: 'MoneyFreed', counter: 'budget/b/total', stopped: true, count: 1 });
  t.deepEqual(job.made, ['0.2'], 'as many as there is money for');
  job.refuse(0, 2, shortfall({ limitUSD: '3.00' }));
  t.like(waits(job)[0], { ...wait, count: 2 }, 'more than the least of their limits');
  job.tell({ type: 'MoneyFreed', counter: 'budget/b/total', stopped: true, count: 2 });
  job.hear(0, 3, 'Running');
  job.hear(1, 2, 'Running');
  t.like(status(), { phase: 'Running', reason: undefined });
  t.is(status().conditions?.find(({ type }) => type === 'Funded')?.status, 'True');
});

test('a hold that a resume has taken is given up at the next stop, though an Attempt from before the stop tells of its place meanwhile', (t) => {
  const terms = {
    ...{ pricebookVersion: 't-1', offering: 'cpu-local', rateUSDPerHour: '36', incrementMs: 1_000 },
    ...{ minimumUSD: '0', unitMs: 6_000, reserveMs: 3_000 },
  };
  const job = new Job({ completions: 1, parallelism: 1 });
  job.kept = { ...Object(job.kept), terms: showTerms(terms) };
  const money = (): readonly string[] =>
    job.effects.flatMap((effect) => (effect.type === 'Money' ? [effect.operation.op] : []));
  job.change({ state: 'Suspended' });
  job.change({ state: 'Running' });
  t.deepEqual(money(), ['Release', 'Place']);
  job.hear(0, 1, 'Provisioning');
  job.change({ state: 'Suspended' });
  t.deepEqual(money(), ['Release']);
  job.change({ state: 'Running' });
  job.hear(0, 1, 'Cancelled', { reason: 'Stopped' });
  job.hear(0, 2, 'Running');
  job.hear(0, 2, 'Succeeded');
  t.is(job.status.phase, 'Succeeded');
  t.deepEqual(money(), ['Release'], 'of what the Attempt has taken over nothing is there to release');
});

test('an index that money refuses keeps its room: the next ones are not tried in its place', (t) => {
  const job = new Job({ completions: 50, parallelism: 2 });
  job.refuse(0, 1, shortfall());
  job.refuse(1, 1, shortfall());
  t.is((job.object.status as JobStatus).attempts, 2);
  t.like(waits(job)[0], { count: 2, above: undefined });
});

test('at most 32 Attempts of a Job wait for a place, and as many again as have one: more of them would only wait', (t) => {
  const job = new Job({ completions: 10_000, parallelism: 256 });
  const begun = (): number => (job.object.status as JobStatus).attempts ?? 0;
  t.is(begun(), 32);
  for (let slot = 0; slot < 32; slot += 1) job.hear(slot, 1, 'Provisioning');
  t.is(begun(), 64, 'one for each that got a place');
  for (let slot = 32; slot < 256; slot += 1) job.hear(slot, 1, 'Provisioning');
  t.is(begun(), 256, 'all that may run at once');
});

test('a first hold that finds no room below the cap waits for what others give back, and a cap that is used up suspends the Job', (t) => {
  const cap = { by: 'Cap', uid: 'uid-0', name: undefined, counter: 'cost/uid-0', limitUSD: '1.00' } as const;
  const job = new Job({ completions: 2, parallelism: 2, maxCostUSD: '1.00' });
  const status = (): JobStatus => job.object.status as JobStatus;
  job.hear(0, 1, 'Running');
  job.refuse(1, 1, shortfall(cap), 'MaxCostReached');
  t.like(status(), { phase: 'Running', reason: 'MaxCostReached', active: 1 });
  t.is(status().message, 'index 1 waits until maxCostUSD leaves 0.50 USD for it');
  const exhausted = { type: 'MoneyExhausted', counter: 'cost/uid-0', limitUSD: '1.00' } as const;
  t.is(job.tell(exhausted), 'Ignored', 'late: another index runs');
  job.hear(0, 1, 'Succeeded');
  t.is(status().phase, 'Pending');
  job.tell(exhausted);
  t.like(status(), { phase: 'Suspended', reason: 'MaxCostReached' });
  job.change({ maxCostUSD: '2.00' });
  t.is(job.made.at(-1), '1.2');
  job.hear(1, 2, 'Running');
  job.hear(1, 2, 'Cancelled', { reason: 'MaxCostReached', shortfall: shortfall(cap) });
  t.is(status().phase, 'Pending', 'the cap was raised while it stopped: it waits to be woken');
});

test('what is said of work that waits for money has no figure that changes, and names an index that still waits', (t) => {
  const job = new Job();
  const said = (): readonly (string | undefined)[] => {
    const { message, conditions } = job.object.status as JobStatus;
    return [message, conditions?.find(({ type }) => type === 'Funded')?.message];
  };
  job.refuse(0, 1, shortfall({ counter: 'budget/b/2026-11', availableUSD: '0.10' }));
  const lost = job.effects.find((effect) => effect.type === 'Emit');
  t.like(lost, { event: 'job.funding_lost', message: 'refused' }, 'the event is of that moment');
  const first = 'index 0 waits until Budget "team-a" has 0.50 USD for it';
  t.deepEqual(said(), [first, first]);
  job.hear(1, 1, 'Running');
  job.hear(1, 1, 'Cancelled', { reason: 'Unfunded', shortfall: shortfall({ counter: 'budget/b/2026-11' }) });
  const second =
    'index 1 was stopped, and waits until Budget "team-a" is raised above 2.00 USD, or a new month begins, and has 0.50 USD for it';
  t.deepEqual(said(), [second, second]);
  job.tell({ type: 'MoneyFreed', counter: 'budget/b/2026-11', stopped: true, count: 1 });
  job.hear(1, 2, 'Running');
  t.deepEqual(said(), [first, first], 'the one that was named has its money');
  job.tell({ type: 'MoneyFreed', counter: 'budget/b/2026-11', stopped: false, count: 1 });
  const wallet = { by: 'Wallet', name: undefined, counter: 'wallet' } as const;
  job.refuse(0, 2, shortfall(wallet), 'InsufficientCredits');
  t.is(said()[0], 'index 0 waits until the wallet has 0.50 USD for it');
});
