import test from 'ava';
import * as fc from 'fast-check';
import {
  FIRST_WAIT_MS,
  LONGEST_WAIT_MS,
  MOST_JITTER,
  nextAttempt,
  WINDOW_MS,
} from '../../../src/engines/delivery/schedule.js';

const chances = fc.double({ min: 0, max: 1, noNaN: true });

test('the wait doubles from 30 s to 8 h, and chance only adds, at most a tenth', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.nat(1e12), chances, (attempts, now, chance) => {
      const due = nextAttempt({ attempts, began: now, now, chance });
      const wait = Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS);
      t.true(due !== undefined && due - now >= wait && due - now <= Math.ceil(wait * (1 + MOST_JITTER)));
    }),
  );
});

test('no attempt is made later than 3 days after the event, and none is left out before', (t) => {
  fc.assert(
    fc.property(fc.array(chances, { minLength: 60, maxLength: 60 }), fc.nat(15_000), (chance, took) => {
      const began = 1_000_000;
      let now = began;
      let attempts = 0;
      for (;;) {
        attempts += 1;
        now += took;
        const due = nextAttempt({ attempts, began, now, chance: chance[attempts] ?? 0 });
        if (due === undefined) break;
        t.true(due > now && due <= began + WINDOW_MS);
        now = due;
      }
      // Given up only when the longest wait did not fit any more.
      t.true(now + LONGEST_WAIT_MS * (1 + MOST_JITTER) > began + WINDOW_MS);
      t.true(attempts >= 17 && attempts <= 20, String(attempts));
    }),
  );
});

test('the first waits are those of the specification', (t) => {
  const waits = Array.from(
    { length: 12 },
    (_, i) => (nextAttempt({ attempts: i + 1, began: 0, now: 0, chance: 0 }) ?? 0) / 1_000,
  );
  t.deepEqual(waits, [30, 60, 120, 240, 480, 960, 1920, 3840, 7680, 15_360, 28_800, 28_800]);
});
