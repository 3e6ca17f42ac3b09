/** The sliding window: never more than the limit in any minute, and nearly all of it for one who always asks. */
import test from 'ava';
import fc from 'fast-check';
import { openWindow, WINDOW_SECONDS } from '../../../../actors/inference/limits/window.js';
import { tries } from '../../../support/extent.js';

const START = 1_800_000_000_000;
const MINUTE = 60_000;
const second = (ms: number): number => Math.floor(ms / 1_000);

/** Times (ms) of those that come `gaps` after each other and are admitted. */
function admit(gaps: Iterable<number>, limit: number): number[] {
  const window = openWindow();
  const admitted: number[] = [];
  let now = START;
  for (const gap of gaps) {
    now += gap;
    if (window.used(second(now)) + 1 > limit) continue;
    window.add(second(now), 1);
    admitted.push(now);
  }
  return admitted;
}

/** Most of them in any minute, both ends included. */
function mostInAMinute(times: readonly number[]): number {
  let most = 0;
  let first = 0;
  for (const [last, time] of times.entries()) {
    while (time - (times[first] ?? 0) > MINUTE) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

const gaps = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 40 }),
    fc.integer({ min: 0, max: 3_000 }),
    fc.constantFrom(999, 1_000, 59_000, 59_999, 60_000, 60_001, 61_000),
  ),
  { maxLength: 600 },
);

test('however requests come, no minute has more of them than the limit', (t) => {
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 40 }), (times, limit) => mostInAMinute(admit(times, limit)) <= limit),
    { numRuns: tries(400) },
  );
  t.pass();
});

test('one who always asks gets at least 98 percent of the limit', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 20 })),
      (limit, stream) => {
        const minutes = 20;
        let left = minutes * MINUTE;
        const within = stream.takeWhile((gap) => (left -= gap) > 0);
        return admit(within, limit).length >= 0.98 * limit * minutes;
      },
    ),
    { numRuns: tries(25) },
  );
  t.pass();
});

test('a load that is steadily a little more than the limit gets at least 98 percent of it', (t) => {
  for (const limit of [60, 100, 1_000]) {
    const gap = MINUTE / limit / 1.1;
    const times = admit(
      Array.from({ length: Math.floor((30 * MINUTE) / gap) }, () => gap),
      limit,
    );
    t.true(mostInAMinute(times) <= limit);
    t.true(times.length >= 0.98 * limit * 30, `${times.length} of ${limit * 30}`);
  }
});

test('an amount counts to the end of its second a minute later, and its window says when it leaves', (t) => {
  const window = openWindow();
  window.add(100, 3);
  window.add(130, 4);
  t.is(window.used(160), 7);
  t.is(window.whenAtMost(6), 161);
  t.is(window.whenAtMost(4), 161);
  t.is(window.whenAtMost(3), 191);
  t.is(window.whenAtMost(7), 160);
  t.is(window.used(161), 4);
  t.is(window.used(190), 4);
  t.is(window.used(191), 0);
  t.is(window.whenAtMost(0), 191);
});

test('what is taken back is there again at once, what has left the window is not taken back twice', (t) => {
  const window = openWindow();
  window.add(100, 10);
  window.add(140, 5);
  window.takeBack(100, 4);
  t.is(window.used(150), 11);
  t.is(window.used(165), 5);
  window.takeBack(100, 6);
  window.takeBack(140 + WINDOW_SECONDS, 1);
  t.is(window.used(165), 5);
  window.takeBack(140, 50);
  t.is(window.used(165), 0);
  t.deepEqual(window.buckets(), []);
});

test('a clock that is set back frees nothing', (t) => {
  const window = openWindow();
  window.add(200, 2);
  t.is(window.used(150), 2);
  window.add(150, 1);
  t.is(window.used(210), 3);
  window.add(100, 1);
  t.is(window.used(210), 3, 'beyond the window it counts nowhere');
});

test('a window is the same after its buckets were written and read', (t) => {
  fc.assert(
    fc.property(gaps, (times) => {
      const window = openWindow();
      let now = START;
      for (const gap of times) window.add(second((now += gap)), 1 + (gap % 7));
      const again = openWindow(window.buckets());
      for (let at = second(now); at < second(now) + 70; at += 1)
        if (again.used(at) !== window.used(at) || again.whenAtMost(3) !== window.whenAtMost(3)) return false;
      return true;
    }),
    { numRuns: tries(100) },
  );
  t.pass();
});
