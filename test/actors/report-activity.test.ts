/** What of brief activity is told, and when. */
import test from 'ava';
import { openActivity } from '../../actors/work/report-activity.js';
import type { Address } from '../../src/api/address.js';
import type { ObjectMessage } from '../../src/kinds/object-message.js';
import { until } from '../e2e/until.js';

const BOX: Address = { org: 'o', kind: 'Sandbox', project: 'default', name: 'box' };

type Seen = Extract<ObjectMessage, { type: 'ActivitySeen' }>;

function open(t: { teardown(release: () => void): void }, now = () => performance.now()) {
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const told: Seen[] = [];
  const tell = (_to: Address, _uid: string, message: ObjectMessage): void => {
    if (message.type === 'ActivitySeen') told.push(message);
  };
  const activity = openActivity({ tell, now, stopping: stop.signal });
  return { told, begin: () => activity.begin(BOX, 's-1', 1) };
}

test('a brief command is told of once, after it, with the time at which it ended', async (t) => {
  const { told, begin } = open(t);
  const over = begin();
  over();
  const ended = performance.now();
  await until('it is told', () => told.length > 0);
  t.is(told.length, 1);
  t.false(told[0]?.busy);
  t.true((told[0]?.at ?? Infinity) <= ended);
});

test('brief commands in a row are told of as one activity, which begins while they go on', async (t) => {
  let time = 0;
  const { told, begin } = open(t, () => time);
  // In one turn, so that no command comes late.
  for (; told.length === 0 && time < 10_000; time += 50) begin()();
  t.true(told[0]?.busy);
  for (let n = 0; n < 100; n++) begin()();
  const last = time;
  await until('its end is told', () => told.length === 2);
  t.false(told[1]?.busy);
  t.true((told[1]?.at ?? Infinity) <= last);
});
