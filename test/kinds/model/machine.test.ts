/** When a Model is available: while something serves it and its deprecationTime has not come. */
import test from 'ava';
import type { Message } from '../../../src/kinds/machine.js';
import { modelKind } from '../../../src/kinds/model/index.js';
import type { ModelStatus } from '../../../src/kinds/model/schema.js';
import { ask, at, contextAt, decided, NOW, objectOf, type Next, type Stored } from '../decide.js';

const kind = modelKind;
const HOUR = 3_600_000;
const END = { deprecationTime: new Date(NOW + HOUR).toISOString() };
const PAST = { deprecationTime: new Date(NOW - HOUR).toISOString() };

const created = (spec: object = {}): Next => decided(kind, at(objectOf(kind, spec)), { type: 'Created' });
const put = (stored: Stored, message: Message, now = NOW): Next => decided(kind, stored, message, contextAt(now));
const statusOf = ({ object }: Stored): ModelStatus => object.status as ModelStatus;

function served(available: boolean, message = available ? 'served by echo' : 'no route serves this model'): Message {
  const from = { address: { org: 'svc', kind: 'Model', project: 'svc', name: 'one' }, uid: 'uid-0', version: 0 };
  return { type: 'MessageReceived', from, content: { type: 'ServingObserved', available, message } };
}

function changed(stored: Stored, spec: object, now = NOW): Next {
  return put({ ...stored, object: { ...stored.object, spec } }, { type: 'Updated', before: stored.object }, now);
}

const FIRED: Message = { type: 'TimerFired', timer: 'deprecation', generation: 1 };

function check(stored: Stored): string {
  const { available, phase, conditions = [] } = statusOf(stored);
  const [ready, second] = conditions;
  if (conditions.length !== 2 || ready?.status !== second?.status || ready?.reason !== second?.reason) return 'differ';
  return `${available} ${phase} ${ready?.status} ${ready?.reason}`;
}

const UNSERVED = 'false Pending False UpstreamUnavailable';
const SERVED = 'true Ready True Served';
const DEPRECATED = 'false Pending False Deprecated';

test('it is available while something serves it', (t) => {
  const one = created();
  t.is(check(one), UNSERVED);
  t.deepEqual(one.effects, []);
  const up = put(one, served(true), NOW + HOUR);
  t.is(check(up), SERVED);
  t.deepEqual(
    statusOf(up).conditions?.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`),
    ['Ready 2026-01-02T04:04:05Z', 'Available 2026-01-02T04:04:05Z'],
  );
  t.deepEqual(put(up, served(true), NOW + 2 * HOUR).object.status, up.object.status, 'told twice it stays as it is');
  const down = put(up, served(false));
  t.is(check(down), UNSERVED);
  t.is(check(changed(up, { family: 'other' })), SERVED, 'a change of the catalog keeps what serves it');
});

test('from its deprecationTime on it is not available, whatever serves it', (t) => {
  const one = created(END);
  t.deepEqual(one.effects, [{ type: 'ArmTimer', timer: 'deprecation', at: NOW + HOUR }]);
  const up = put(one, served(true));
  t.is(check(up), SERVED);
  t.deepEqual(up.effects, [], 'it is armed');
  const early = put(up, FIRED, NOW + HOUR - 1);
  t.is(check(early), SERVED);
  t.deepEqual(early.effects, [{ type: 'ArmTimer', timer: 'deprecation', at: NOW + HOUR }]);
  const over = put(early, FIRED, NOW + HOUR);
  t.is(check(over), DEPRECATED);
  t.deepEqual(over.effects, []);
  t.is(check(put(over, served(true), NOW + 2 * HOUR)), DEPRECATED);
  t.is(check(created(PAST)), DEPRECATED);
});

test('another deprecationTime holds from then on, and none ends the wait', (t) => {
  const up = put(created(END), served(true));
  const later = changed(up, { deprecationTime: new Date(NOW + 2 * HOUR).toISOString() });
  t.deepEqual(later.effects, [{ type: 'ArmTimer', timer: 'deprecation', at: NOW + 2 * HOUR }]);
  const none = changed(later, {});
  t.deepEqual(none.effects, [{ type: 'CancelTimer', timer: 'deprecation' }]);
  t.deepEqual(changed(none, {}).effects, []);
  const over = changed(later, PAST);
  t.is(check(over), DEPRECATED);
  t.is(check(changed(over, {})), SERVED, 'a time that is taken back');
});

test('a Model from before the gateway is armed with the first thing that it is told', (t) => {
  const old = at(objectOf(kind, END));
  t.deepEqual(put(old, served(true)).effects, [{ type: 'ArmTimer', timer: 'deprecation', at: NOW + HOUR }]);
  t.is(ask(kind, old, { type: 'TimerFired', timer: 'other', generation: 1 }).outcome, 'Ignored');
});
