/** Turns: whatever comes in whatever order, the bounds hold, nobody is held up, and nothing is lost or sent twice. */
import test from 'ava';
import * as fc from 'fast-check';
import {
  AT_ONCE,
  AT_ONCE_PER_ENDPOINT,
  AT_ONCE_PER_ORG,
  LEAST_PER_ORG,
  openDeliveryTurns,
  type DeliveryTurns,
} from '../../../actors/delivery/turns.js';
import type { PendingDelivery } from '../../../storage/webhooks/deliveries.js';
import { tries } from '../../support/extent.js';

function delivery(endpoint: string, id: string, body = '{}', org = 'o-1'): PendingDelivery {
  return { id, org, endpoint, event: 'job.failed', attempts: 0, time: 0, body };
}

const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('offer' as const), endpoint: fc.nat(12), id: fc.nat(400) }),
    fc.record({ do: fc.constant('take' as const) }),
    fc.record({ do: fc.constant('end' as const), which: fc.nat(100), answered: fc.boolean() }),
  ),
  { maxLength: 800 },
);

test('in any order of offers, takes and ends the bounds hold, and each delivery goes out once', (t) => {
  fc.assert(
    fc.property(steps, (all) => {
      const turns = openDeliveryTurns();
      const offered = new Set<string>();
      const out: PendingDelivery[] = [];
      const perEndpoint = (endpoint: string) => out.filter((one) => one.endpoint === endpoint).length;
      const taken = new Set<string>();
      const take = (): boolean => {
        const next = turns.take();
        if (next === undefined) return false;
        t.false(taken.has(next.id));
        taken.add(next.id);
        out.push(next);
        t.true(out.length <= AT_ONCE && perEndpoint(next.endpoint) <= AT_ONCE_PER_ENDPOINT);
        t.true(out.filter(({ org }) => org === next.org).length <= AT_ONCE_PER_ORG);
        return true;
      };
      const end = (which: number, answered: boolean): void => {
        const [one] = out.splice(which % out.length, 1);
        if (one === undefined) return;
        turns.free(one, answered);
        turns.forget(one);
      };
      for (const step of all) {
        if (step.do === 'offer') {
          const one = delivery(`e${step.endpoint}`, `d${step.endpoint}-${step.id}`, '{}', `o-${step.endpoint % 3}`);
          const known = offered.has(one.id) && !(taken.has(one.id) && !out.some(({ id }) => id === one.id));
          if (taken.has(one.id) && !known) continue;
          t.is(turns.offer(one), known ? 'Known' : 'Taken');
          offered.add(one.id);
        } else if (step.do === 'take') take();
        else if (out.length > 0) end(step.which, step.answered);
        t.is(turns.inHand(), out.length);
      }
      while (take() || out.length > 0) if (out.length > 0) end(0, true);
      t.deepEqual([...taken].toSorted(), [...offered].toSorted());
      t.is(turns.size(), 0);
    }),
    { numRuns: tries(200) },
  );
});

test('an endpoint with many goes to the end of the line after each', (t) => {
  const turns = openDeliveryTurns();
  for (let i = 0; i < 100; i += 1) turns.offer(delivery('many', `m${i}`));
  turns.offer(delivery('few', 'f0'));
  turns.offer(delivery('few', 'f1'));
  const order = Array.from({ length: 5 }, () => turns.take()?.endpoint);
  t.deepEqual(order, ['many', 'few', 'many', 'few', 'many']);
});

test('a full line leaves deliveries in storage, by number and by size, and one endpoint cannot fill it for others', (t) => {
  const turns = openDeliveryTurns();
  let taken = 0;
  while (turns.offer(delivery('many', `m${taken}`)) === 'Taken') taken += 1;
  t.is(taken, 1_000);
  t.is(turns.offer(delivery('other', 'o')), 'Taken');
  const large = 'x'.repeat(64 * 1024);
  let count = 0;
  while (turns.offer(delivery('large', `l${count}`, large)) === 'Taken') count += 1;
  t.is(count, 128);
});

function takeAll(turns: DeliveryTurns): PendingDelivery[] {
  const taken: PendingDelivery[] = [];
  for (let next = turns.take(); next !== undefined; next = turns.take()) taken.push(next);
  return taken;
}

function endAll(turns: DeliveryTurns, all: readonly PendingDelivery[], answered: boolean): void {
  for (const one of all) {
    turns.free(one, answered);
    turns.forget(one);
  }
}

test('receivers that do not answer lose places down to one, so that many of them leave room; answers give them back', (t) => {
  const turns = openDeliveryTurns();
  for (let e = 0; e < 8; e += 1)
    for (let i = 0; i < 100; i += 1) turns.offer(delivery(`dead${e}`, `d${e}-${i}`, '{}', `o-${e % 2}`));
  const first = takeAll(turns);
  t.is(first.length, AT_ONCE);
  turns.offer(delivery('live', 'l', '{}', 'o-live'));
  t.is(turns.take(), undefined);
  endAll(turns, first, false);
  const second = takeAll(turns);
  t.is(second.length, 2 * LEAST_PER_ORG + 1);
  t.true(second.some(({ endpoint }) => endpoint === 'live'));
  endAll(turns, second, true);
  t.is(takeAll(turns).length, 16);
});

test('an org with a thousand receivers that do not answer fills its own share, and another gets its turns and its room', (t) => {
  const turns = openDeliveryTurns();
  let n = 0;
  const flood = (): void => {
    for (let e = 0; e < 980; e += 1)
      for (let i = 0; i < 12; i += 1)
        turns.offer(delivery(`hostile${e}`, `h${(n += 1)}`, 'x'.repeat(1_000), 'o-hostile'));
  };
  flood();
  t.false(turns.hasRoom('o-hostile'));
  const held = takeAll(turns);
  t.is(held.length, AT_ONCE_PER_ORG);
  for (let i = 0; i < 100; i += 1) t.is(turns.offer(delivery('mine', `m${i}`, '{}', 'o-mine')), 'Taken');
  const mine = takeAll(turns);
  t.deepEqual([...new Set(mine.map(({ org }) => org))], ['o-mine']);
  t.is(mine.length, AT_ONCE_PER_ENDPOINT);
  endAll(turns, held, false);
  flood();
  t.is(takeAll(turns).length, LEAST_PER_ORG, 'what does not answer keeps few places');
  // Many such orgs fill the memory: the first of any other is taken all the same.
  for (let org = 0; org < 10; org += 1)
    for (let i = 0; i < 1_000; i += 1) turns.offer(delivery(`more${org}`, `${org}-${i}`, '{}', `o-more${org}`));
  t.is(turns.offer(delivery('late', 'late', '{}', 'o-late')), 'Taken');
  t.is(turns.offer(delivery('late', 'later', '{}', 'o-late')), 'Full');
});
