/** What an InferenceEndpoint puts into the ledger, and what its status and events make of what the gateway tells. */
import test from 'ava';
import { findCondition } from '../../../src/api/conditions.js';
import type { Effect } from '../../../src/kinds/effect.js';
import { inferenceEndpointKind } from '../../../src/kinds/inferenceendpoint/index.js';
import type { InferenceEndpointStatus } from '../../../src/kinds/inferenceendpoint/schema.js';
import { payerOf } from '../../../src/kinds/inferenceendpoint/state.js';
import type { Message } from '../../../src/kinds/machine.js';
import type { ModelUsage, ObjectMessage } from '../../../src/kinds/object-message.js';
import { ask, at, contextAt, decided, NOW, objectOf, type Next, type Stored } from '../decide.js';

const kind = inferenceEndpointKind;
const META = { namespace: 'default', labels: { team: 'a' } };

const created = (spec: object = {}): Next =>
  decided(kind, at(objectOf(kind, { model: 'echo', ...spec }, META)), { type: 'Created' });

function told(content: ObjectMessage): Message {
  const from = { address: { org: 'o-1', kind: kind.kind, project: 'default', name: 'one' }, uid: 'uid-0', version: 0 };
  return { type: 'MessageReceived', from, content };
}

const put = (stored: Stored, message: Message, now = NOW): Next => decided(kind, stored, message, contextAt(now));
const ignores = (stored: Stored, message: Message): boolean => ask(kind, stored, message).outcome === 'Ignored';
const statusOf = ({ object }: Stored): InferenceEndpointStatus => object.status as InferenceEndpointStatus;
const standing = (stored: Stored, type = 'Ready'): string => {
  const { status = '', reason = '' } = findCondition(statusOf(stored).conditions, type) ?? {};
  return `${status} ${reason}`;
};
const eventsOf = ({ effects }: Next): string[] =>
  effects.flatMap((effect) => (effect.type === 'Emit' ? [effect.event] : []));
const moneyOf = (effects: readonly Effect[]): unknown[] =>
  effects.flatMap((effect) => (effect.type === 'Money' ? [effect.operation] : []));

/** A client changes the spec. */
function changed(stored: Stored, spec: object): Next {
  const { object } = stored;
  const metadata = { ...object.metadata, generation: object.metadata.generation + 1 };
  const after = { ...object, metadata, spec: { ...(object.spec as object), ...spec } };
  return put({ ...stored, object: after }, { type: 'Updated', before: object });
}

const SERVED = told({
  type: 'ModelObserved',
  model: 'echo',
  available: true,
  reason: 'Served',
  message: 'echo serves it',
});
const UNSERVED = told({
  ...{ type: 'ModelObserved', model: 'echo', available: false },
  ...{ reason: 'UpstreamUnavailable', message: 'no route serves it' },
});
const GONE = told({ type: 'ModelObserved', available: false, reason: 'NotFound', message: 'there is no such model' });
const refused = (reason: 'MaxCostReached' | 'BudgetExceeded' | 'InsufficientCredits'): Message =>
  told({ type: 'RequestsFunded', refusal: { reason, message: `${reason}, since then` } });
const FUNDED = told({ type: 'RequestsFunded' });
const usage = (more: Partial<ModelUsage> = {}): ModelUsage => ({
  ...{ requests: 3, errors: 1, inputTokens: 20, outputTokens: 30, costUSD: '0.5', openHolds: 1 },
  ...more,
});

test('at birth it has used nothing, its cap is in the ledger, and its payer is that of the moment', (t) => {
  const one = created({ maxCostUSD: '5.00' });
  t.deepEqual(moneyOf(one.effects), [{ op: 'SetCap', uid: 'uid-0', limitUSD: '5.00' }]);
  t.like(statusOf(one), { phase: 'Running', observedGeneration: 1, reason: 'NotObserved' });
  t.is(statusOf(one).usage24h?.costUSD, '0.00');
  t.is(standing(one), 'Unknown NotObserved');
  t.is(standing(one, 'ModelAvailable'), 'Unknown NotObserved');
  t.notThrows(() => kind.schema.status.parse(statusOf(one)));
  t.deepEqual(moneyOf(created().effects), [], 'without a cap there is none to set');

  const relabelled = { ...one.object, metadata: { ...one.object.metadata, labels: { team: 'b' } } };
  const payer = payerOf(JSON.parse(JSON.stringify(one.private)), relabelled);
  const owner = { uid: 'uid-0', kind: 'InferenceEndpoint', project: 'default', name: 'one' };
  t.deepEqual(payer, { project: 'default', labels: { team: 'a' }, costs: [owner] });
  t.deepEqual(payerOf(null, relabelled).labels, { team: 'b' });
});

test('its cap rises with the spec, and goes with the object', (t) => {
  const one = created({ maxCostUSD: '5.00' });
  t.deepEqual(moneyOf(changed(one, { maxCostUSD: '6.00' }).effects), [
    { op: 'SetCap', uid: 'uid-0', limitUSD: '6.00' },
  ]);
  t.deepEqual(moneyOf(changed(one, { limits: { maxConcurrent: 1, rpm: 1 } }).effects), []);
  t.deepEqual(moneyOf(kind.atRemoval?.(one.object) ?? []), [{ op: 'SetCap', uid: 'uid-0', limitUSD: undefined }]);
});

test('it is ready while it runs, is paid for and its model is served; what is named is the first of these that is not so', (t) => {
  const table: readonly [of: string, messages: readonly Message[], ready: string, available: string][] = [
    ['not known', [], 'Unknown NotObserved', 'Unknown NotObserved'],
    ['served', [SERVED], 'True Serving', 'True Served'],
    ['unserved', [UNSERVED], 'False UpstreamUnavailable', 'False UpstreamUnavailable'],
    ['served again', [UNSERVED, SERVED], 'True Serving', 'True Served'],
    ['gone', [SERVED, GONE], 'False NotFound', 'False NotFound'],
    ['refused', [SERVED, refused('BudgetExceeded')], 'False BudgetExceeded', 'True Served'],
    [
      'refused and unserved',
      [refused('InsufficientCredits'), UNSERVED],
      'False InsufficientCredits',
      'False UpstreamUnavailable',
    ],
    ['funded', [SERVED, refused('MaxCostReached'), FUNDED], 'True Serving', 'True Served'],
  ];
  for (const [of, messages, ready, available] of table) {
    const one = messages.reduce<Next>((stored, message) => put(stored, message), created());
    t.is(standing(one), ready, of);
    t.is(standing(one, 'ModelAvailable'), available, of);
    t.is(statusOf(one).reason, ready.split(' ')[1], of);
    t.is(statusOf(one).phase, 'Running', of);
    const stopped = changed(one, { state: 'Stopped' });
    t.is(standing(stopped), 'False Stopped', of);
    t.like(statusOf(stopped), { phase: 'Stopped', reason: 'Stopped', observedGeneration: 2 }, of);
    t.is(standing(stopped, 'ModelAvailable'), available, of);
    t.is(standing(changed(stopped, { state: 'Running' })), ready, of);
    const last = messages.at(-1);
    if (last !== undefined) t.true(ignores(one, last), `${of}, told twice`);
  }
  t.is(statusOf(put(created(), SERVED)).model, 'echo');
  t.is(statusOf(put(put(created(), SERVED), GONE)).model, undefined);
});

test('what is known of a model is not said of another', (t) => {
  const one = changed(put(created(), SERVED), { model: 'sonnet' });
  t.is(standing(one), 'Unknown NotObserved');
  t.is(statusOf(one).model, undefined);
  t.is(standing(changed(put(created(), SERVED), { state: 'Running' })), 'True Serving', 'of the same it stays');
});

test('a condition keeps the time of its last change, and is of the newest generation', (t) => {
  const one = put(created(), SERVED, NOW + 60_000);
  t.is(findCondition(statusOf(one).conditions, 'Ready')?.lastTransitionTime, '2026-01-02T03:05:05Z');
  const later = changed(one, { limits: { maxConcurrent: 2, rpm: 2 } });
  t.like(findCondition(statusOf(later).conditions, 'Ready'), {
    ...{ lastTransitionTime: '2026-01-02T03:05:05Z', observedGeneration: 2 },
  });
});

test('its use is shown as it is told, and nothing changes when it is the same', (t) => {
  const one = created();
  t.true(ignores(one, told({ type: 'UsageChanged', usage: usage({ ...statusOf(one).usage24h }) })), 'nothing was used');
  const used = put(one, told({ type: 'UsageChanged', usage: usage() }));
  t.deepEqual(statusOf(used).usage24h, usage({ costUSD: '0.50' }));
  t.true(ignores(used, told({ type: 'UsageChanged', usage: usage({ costUSD: '0.500' }) })));
  t.is(statusOf(put(used, SERVED)).usage24h?.requests, 3, 'what else is told keeps it');
  t.is(statusOf(changed(used, { state: 'Stopped' })).usage24h?.requests, 3);
  const cells = Object.fromEntries(kind.columns.map(({ name, cell }) => [name, cell(used.object)]));
  t.like(cells, { Phase: 'Running', Requests: 3, Cost: '0.50', Tokens: 50, Running: 1 });
});

test('that a cap is reached is told once for each value of it', (t) => {
  const capped = put(created({ maxCostUSD: '1.00' }), refused('MaxCostReached'));
  t.deepEqual(eventsOf(capped), ['inferenceendpoint.max_cost_reached']);
  t.true(ignores(capped, refused('MaxCostReached')));
  const again = put(put(capped, FUNDED), refused('MaxCostReached'));
  t.deepEqual(eventsOf(again), [], 'the cap is the same');
  const raised = changed(capped, { maxCostUSD: '2.00' });
  t.is(standing(raised), 'Unknown NotObserved', 'the cap that was reached is no more');
  t.deepEqual(eventsOf(put(raised, refused('MaxCostReached'))), ['inferenceendpoint.max_cost_reached']);
  const other = changed(put(created({ maxCostUSD: '1.00' }), refused('BudgetExceeded')), { maxCostUSD: '2.00' });
  t.is(standing(other), 'False BudgetExceeded', 'a Budget is not changed by a cap');
});

test('that money is lost and there again is told once each, whatever refuses meanwhile', (t) => {
  const lost = put(created({ maxCostUSD: '1.00' }), refused('BudgetExceeded'));
  t.deepEqual(eventsOf(lost), ['inferenceendpoint.funding_lost']);
  const other = put(lost, refused('InsufficientCredits'));
  t.deepEqual(eventsOf(other), []);
  t.is(standing(other), 'False InsufficientCredits');
  const capped = put(other, refused('MaxCostReached'));
  t.deepEqual(eventsOf(capped), ['inferenceendpoint.max_cost_reached']);
  const restored = put(capped, FUNDED);
  t.deepEqual(eventsOf(restored), ['inferenceendpoint.funding_restored']);
  t.true(ignores(restored, FUNDED));
  t.deepEqual(eventsOf(put(restored, refused('BudgetExceeded'))), ['inferenceendpoint.funding_lost']);
  const reached = put(created({ maxCostUSD: '1.00' }), refused('MaxCostReached'));
  t.deepEqual(eventsOf(put(reached, FUNDED)), [], 'only what was lost is restored');
});

test('what is not for it changes nothing', (t) => {
  const one = created();
  t.true(ignores(one, told({ type: 'Used', time: NOW })));
  t.true(ignores(one, { type: 'TimerFired', timer: 'none', generation: 1 }));
  t.deepEqual(decided(kind, one, { type: 'DeletionRequested' }).object.status, one.object.status);
});
