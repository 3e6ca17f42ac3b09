import test from 'ava';
import { openClock } from '../../storage/clock.js';
import { openFixture } from './fixtures.js';

test('the clock is Postgres’s, whatever the clock of this process says', async (t) => {
  const f = await openFixture(t);
  const start = performance.now();
  // As if this process had started at another time: an offset of three hours.
  const clock = await openClock(f.store.postgres, () => performance.now() - start + 10_800_000);
  t.teardown(() => clock.close());
  const [row] = await f.store.postgres.readRows<[number]>({
    name: 'their now',
    text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8',
  });
  const difference = Math.abs(clock.now() - (row?.[0] ?? 0));
  t.true(difference < 1_000, `${difference} ms`);
  t.true(Number.isInteger(clock.now()));
});
