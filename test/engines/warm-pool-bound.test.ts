/** How many boxes are kept ready: by the machine, and by use. */
import test from 'ava';
import { warmBoxesWithin, used, worth } from '../../src/runner/work/warm-pool.js';

const GiB = 2 ** 30;

test('there are no more than the machine bears, and few where each is three processes', (t) => {
  t.is(warmBoxesWithin({ memory: 64 * GiB, processors: 2, zygote: true }, 128), 128);
  t.is(warmBoxesWithin({ memory: 64 * GiB, processors: 2, zygote: false }, 128), 16);
  t.is(warmBoxesWithin({ memory: 1 * GiB, processors: 8, zygote: true }, 128), 6);
  t.is(warmBoxesWithin({ memory: 64 * GiB, processors: 8, zygote: true }, 0), 0);
});

test('a shape is worth nothing before its second start, and less again when it is used less', (t) => {
  let use = { since: 0, now: 0, before: 0 };
  const at = (minute: number): number => worth((use = used(use, minute * 60_000)));
  t.is(at(0), 0);
  t.is(at(1), 4);
  for (let minute = 2; minute < 29; minute++) at(minute);
  t.is(at(29), 60);
  t.is(at(31), 62);
  t.is(at(62), 4);
  t.is(at(200), 0);
});
