/** Tokenizing takes no more than its part of the event loop, and counts too much rather than too little beyond it. */
import test from 'ava';
import { withinTime } from '../../../src/engines/inference/tokens/within-time.js';

test('when the time of a second is used up texts count their bytes until the next', (t) => {
  let now = 0;
  const count = withinTime(
    () => {
      now += 40;
      return 1;
    },
    () => now,
  );
  t.deepEqual([count('äbc'), count('äbc'), count('äbc'), count('äbc')], [1, 1, 1, 4]);
  now = 999;
  t.is(count('äbc'), 4);
  now = 1_000;
  t.is(count('äbc'), 1);
});
