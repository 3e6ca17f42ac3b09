import test from 'ava';
import fc from 'fast-check';
import { openSupervision } from '../../actors/supervision.js';

const SETTINGS = { maxCrashes: 3, windowMs: 1_000, firstBackoffMs: 10, maxBackoffMs: 100 };

test('an actor is parked by one crash too many within the window, and its neighbour is not', (t) => {
  const supervision = openSupervision(SETTINGS);
  for (let i = 0; i < 3; i += 1) {
    t.is(supervision.crashed('a', new TypeError('secret text'), 100 + i, 1).verdict, 'Restart');
  }
  t.is(supervision.crashed('a', new TypeError('secret text'), 110, 1).verdict, 'Park');
  t.true(supervision.isParked('a'));
  t.false(supervision.isParked('b'));
  t.is(supervision.record('a')?.errorClass, 'TypeError');
  t.false(JSON.stringify(supervision.record('a')).includes('secret'));
});

test('crashes that are far apart never park an actor', (t) => {
  const supervision = openSupervision(SETTINGS);
  for (let i = 0; i < 50; i += 1) t.is(supervision.crashed('a', new Error('x'), i * 500, 0).verdict, 'Restart');
});

test('the back-off grows, is jittered and stays within its bound', (t) => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 20 }), (chance, crashes) => {
      const supervision = openSupervision({ ...SETTINGS, maxCrashes: 100 });
      let last = 0;
      for (let i = 0; i < crashes; i += 1) {
        const verdict = supervision.crashed('a', new Error('x'), i, chance);
        if (verdict.verdict !== 'Restart') return false;
        if (verdict.afterMs < last || verdict.afterMs > 100) return false;
        last = verdict.afterMs;
      }
      return true;
    }),
  );
  t.pass();
});

test("an operator's restart forgives what was", (t) => {
  const supervision = openSupervision({ ...SETTINGS, maxCrashes: 0 });
  supervision.crashed('a', new Error('x'), 0, 0);
  t.true(supervision.isParked('a'));
  supervision.forgive('a');
  t.false(supervision.isParked('a'));
});
