/**
 * Written ahead: an endpoint's use over crashes at any moment. The model is a log of what was answered; the row is whatever of the writes was
 * stored, also of those that seemed to fail.
 */
import test from 'ava';
import fc from 'fast-check';
import {
  answer,
  canWait,
  draft,
  end,
  isOver,
  isTimely,
  openUseOf,
  restore,
  stateOf,
  take,
  undo,
  unwritten,
  wantsWrite,
  written,
  type Draft,
  type EndpointUse,
  type Taken,
} from '../../../../actors/inference/limits/endpoint-use.js';
import type { EndpointLimits } from '../../../../actors/inference/limits.js';
import type { StoredWindow } from '../../../../storage/inference/windows.js';

const START = 1_800_000_000_400;
const MINUTE = 60_000;
const KEY = { org: 'o-1', uid: 'e' };

type Step =
  | { readonly do: 'Wait'; readonly ms: number }
  | { readonly do: 'Take'; readonly tokens: number; readonly times: number }
  | { readonly do: 'End'; readonly which: number; readonly share: number }
  | { readonly do: 'Write' }
  /** `stored`: though it failed, its row is there from now on. */
  | { readonly do: 'Ended'; readonly how: 'Written' | 'Lost'; readonly stored: boolean }
  | { readonly do: 'Crash'; readonly stored: boolean; readonly away: number };

/** One that was answered. */
interface Answered {
  /** When it asked. */
  readonly asked: number;
  /** Of its answer. */
  readonly at: number;
  tokens: number;
  readonly taken: Taken;
  running: boolean;
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('Take' as const),
      tokens: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 400 })),
      times: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc
      .oneof(fc.integer({ min: 0, max: 900 }), fc.constantFrom(30_000, 49_999, 50_001, 61_000))
      .map((ms) => ({ do: 'Wait' as const, ms })),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('End' as const),
      which: fc.nat(20),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'Write' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('Ended' as const),
      how: fc.constantFrom('Written' as const, 'Written' as const, 'Written' as const, 'Lost' as const),
      stored: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('Crash' as const),
      stored: fc.boolean(),
      away: fc.integer({ min: 0, max: 20_000 }),
    }),
  },
);

function follow(steps: readonly Step[], limits: EndpointLimits): void {
  const { rpm, tpm = 0 } = limits;
  const most = Math.max(1, Math.floor(rpm / 50));
  let now = START;
  let epoch = 1;
  let use: EndpointUse = openUseOf(limits);
  let row: StoredWindow | undefined;
  let underWay:
    | { readonly draft: Draft; readonly waiters: { readonly taken: Taken; readonly asked: number }[] }
    | undefined;
  let waiters: { readonly taken: Taken; readonly asked: number }[] = [];
  /** Listed in the row, and refused after all. */
  let doubtful = 0;
  const phantoms: { readonly at: number; readonly requests: number }[] = [];
  const log: Answered[] = [];

  const counted = (since: number): Answered[] => log.filter(({ at }) => at >= since);
  const admitted = (one: { readonly taken: Taken; readonly asked: number }): void => {
    log.push({ asked: one.asked, at: now, tokens: one.taken.tokens, taken: one.taken, running: true });
    for (const from of ['asked', 'at'] as const) {
      const last = log.at(-1)?.[from] ?? 0;
      const minute = log.filter((each) => each[from] >= last - MINUTE && each[from] <= last);
      if (minute.length > rpm) throw new Error(`${minute.length} requests in a minute, by ${from}`);
      const tokens = minute.reduce((sum, each) => sum + each.tokens, 0);
      if (tokens > tpm) throw new Error(`${tokens} tokens in a minute, by ${from}`);
    }
  };
  const store = (of: Draft): void => {
    row = { ...KEY, epoch, writtenAt: now, body: structuredClone(of.body) };
  };

  for (const one of steps) {
    if (one.do === 'Wait') now += one.ms;
    else if (one.do === 'Take') {
      for (let i = 0; i < one.times; i += 1) {
        const found = take(use, limits, one.tokens, now);
        if (found.outcome === 'Refused') {
          if (found.retryAfterSeconds < 1 || found.retryAfterSeconds > 61) throw new Error('Retry-After');
          break;
        }
        if (found.taken.ahead) admitted({ taken: found.taken, asked: now });
        else waiters.push({ taken: found.taken, asked: now });
      }
    } else if (one.do === 'End') {
      const running = log.filter((each) => each.running);
      const chosen = running[one.which % Math.max(1, running.length)];
      if (chosen === undefined) continue;
      chosen.running = false;
      const used = Math.floor(chosen.tokens * one.share);
      chosen.tokens = used;
      end(use, chosen.taken, used);
    } else if (one.do === 'Write') {
      if (underWay !== undefined || (waiters.length === 0 && !wantsWrite(use))) continue;
      for (const { taken, asked } of waiters) if (!canWait(asked, now)) undo(use, taken);
      waiters = waiters.filter(({ asked }) => canWait(asked, now));
      underWay = {
        draft: draft(
          use,
          now,
          waiters.map(({ taken }) => taken),
        ),
        waiters,
      };
      waiters = [];
    } else if (one.do === 'Ended') {
      if (underWay === undefined) continue;
      if (one.how === 'Written' && isTimely(underWay.draft, now)) {
        store(underWay.draft);
        doubtful = 0;
        written(use, underWay.draft);
        for (const each of underWay.waiters) {
          answer(use, each.taken, now);
          admitted(each);
        }
      } else {
        if (one.stored) {
          store(underWay.draft);
          doubtful = underWay.waiters.length;
        }
        unwritten(use);
        for (const { taken } of underWay.waiters) undo(use, taken);
      }
      underWay = undefined;
    } else {
      if (underWay !== undefined && one.stored) {
        store(underWay.draft);
        doubtful = underWay.waiters.length;
      }
      epoch += 1;
      now += one.away;
      const leasedAt = now;
      use = row === undefined ? openUseOf(limits) : restore(row, { limits, own: epoch, leasedAt, now });
      underWay = undefined;
      waiters = [];
      for (const each of log) each.running = false;
      const second = Math.floor(now / 1_000);
      const real = counted(now - MINUTE);
      const restored = use.requests.used(second);
      if (restored < real.length) throw new Error(`${real.length} requests were used, ${restored} are known`);
      // An answer that waited for its row is dated a few seconds late; what an earlier crash made of nothing counts as long.
      const since = now - MINUTE - 8_000;
      const known = counted(since).length + doubtful;
      const before = phantoms.reduce((sum, { at, requests }) => sum + (at >= since ? requests : 0), 0);
      if (restored > known + before + most) throw new Error(`${restored} requests are taken as used, ${known} were`);
      phantoms.push({ at: now, requests: (row?.body.ahead.requests ?? 0) + doubtful });
      const realTokens = real.reduce((sum, each) => sum + each.tokens, 0);
      const knownTokens = use.tokens.used(second);
      if (knownTokens < realTokens) throw new Error(`${realTokens} tokens were used, ${knownTokens} are known`);
    }
  }
}

const limits = fc.record({
  maxConcurrent: fc.integer({ min: 1, max: 256 }),
  rpm: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 100, max: 400 })),
  tpm: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 5_000, max: 50_000 })),
});

test('whatever is written, lost or killed: no minute passes a limit, and what was used is known after each crash', (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), limits, (steps, of) => follow(steps, of)),
    { numRuns: Number(process.env['LIMITS_RUNS'] ?? 400) },
  );
  t.pass();
});

const LIMITS: EndpointLimits = { maxConcurrent: 4, rpm: 100, tpm: 1_000 };

/** With everything that it may write ahead. */
function opened(of: EndpointLimits = LIMITS, now = START): EndpointUse {
  const use = openUseOf(of);
  written(use, draft(use, now));
  return use;
}

function takenFrom(use: EndpointUse, tokens = 0, now = START, of: EndpointLimits = LIMITS): Taken {
  const found = take(use, of, tokens, now);
  if (found.outcome === 'Refused') throw new Error(found.by);
  return found.taken;
}

test('a fiftieth of the limits is written ahead, and a request that does not fit into it waits for a write', (t) => {
  const use = opened();
  t.true(takenFrom(use, 20).ahead);
  t.true(wantsWrite(use), 'no tokens are left ahead');
  t.false(takenFrom(use, 1).ahead);
  t.true(takenFrom(opened({ ...LIMITS, rpm: 1 }), 0, START, { ...LIMITS, rpm: 1 }).ahead, 'one request at least');
  t.false(takenFrom(opened(), 0, START + 50_000).ahead, 'what was written long ago has lapsed');
});

test('while a write is under way no more is admitted than the row before it and that one cover', (t) => {
  const use = opened({ ...LIMITS, maxConcurrent: 256, rpm: 1_000 });
  const less = { ...LIMITS, maxConcurrent: 256, rpm: 100 };
  takenFrom(use, 0, START, less);
  draft(use, START);
  t.deepEqual(
    [1, 2, 3].map(() => takenFrom(use, 0, START, less).ahead),
    [true, true, false],
    'the new one covers less',
  );

  const other = opened();
  takenFrom(other);
  const under = draft(other, START);
  t.deepEqual(
    [1, 2].map(() => takenFrom(other).ahead),
    [true, false],
    'the old one covers less',
  );
  written(other, under);
  t.deepEqual(
    [1, 2].map(() => takenFrom(other, 0, START, { ...LIMITS, maxConcurrent: 9 }).ahead),
    [true, false],
    'one of the new ones was admitted before',
  );
});

test('a refusal names what refuses, says when one like it may pass, and changes nothing', (t) => {
  const use = opened();
  const first = takenFrom(use, 600);
  t.deepEqual(take(use, LIMITS, 500, START + 2_000), { outcome: 'Refused', by: 'tpm', retryAfterSeconds: 59 });
  const alone = { ...LIMITS, maxConcurrent: 1 };
  t.deepEqual(take(use, alone, 1, START), { outcome: 'Refused', by: 'maxConcurrent', retryAfterSeconds: 1 });
  const one = { ...LIMITS, rpm: 1 };
  t.deepEqual(take(use, one, 1, START + 60_599), { outcome: 'Refused', by: 'rpm', retryAfterSeconds: 1 });
  t.deepEqual(take(use, one, 1, START), { outcome: 'Refused', by: 'rpm', retryAfterSeconds: 61 });
  t.is(use.running, 1);
  t.is(use.requests.used(Math.floor(START / 1_000)), 1);
  end(use, first, 100);
  t.is(take(use, LIMITS, 900, START + 2_000).outcome, 'Taken', 'what was not used is there at once');
});

test('a request that asks for more tokens than the limit takes all of it', (t) => {
  const use = opened();
  t.is(takenFrom(use, 1_000_000).tokens, 1_000);
  t.like(take(use, LIMITS, 1, START), { by: 'tpm' });
});

test('changed limits hold for the next request', (t) => {
  const use = opened();
  for (let i = 0; i < 3; i += 1) end(use, takenFrom(use, 100), 100);
  t.like(take(use, { ...LIMITS, rpm: 3 }, 0, START), { outcome: 'Refused', by: 'rpm' });
  t.like(take(use, { ...LIMITS, tpm: 350 }, 100, START), { outcome: 'Refused', by: 'tpm' });
  const { tpm: _, ...unlimited } = LIMITS;
  t.is(take(use, unlimited, 100_000, START).outcome, 'Taken');
  t.like(
    take(use, LIMITS, 1, START),
    { outcome: 'Refused', by: 'tpm' },
    'what went through without a limit counts in it',
  );
});

test('the state says what is left and when all of it is there again', (t) => {
  const use = opened();
  t.deepEqual(stateOf(use, START), {
    requests: { limit: 100, remaining: 100, resetMs: 0 },
    tokens: { limit: 1_000, remaining: 1_000, resetMs: 0 },
  });
  takenFrom(use, 300, START);
  takenFrom(use, 0, START + 5_000);
  t.deepEqual(stateOf(use, START + 6_000), {
    requests: { limit: 100, remaining: 98, resetMs: 59_600 },
    tokens: { limit: 1_000, remaining: 700, resetMs: 54_600 },
  });
  const { tpm: _, ...unlimited } = LIMITS;
  takenFrom(use, 0, START + 7_000, unlimited);
  t.deepEqual(Object.keys(stateOf(use, START + 7_000)), ['requests']);
});

test('what was ahead counts as used from when the lease was taken, and at most until it has lapsed', (t) => {
  const body = { requests: [], tokens: [], answering: { requests: 0, tokens: 0 }, ahead: { requests: 7, tokens: 70 } };
  const row = (epoch: number): StoredWindow => ({ ...KEY, epoch, writtenAt: START, body });
  const usedAt = (use: EndpointUse, ms: number): number => use.requests.used(Math.floor(ms / 1_000));
  const known = { limits: LIMITS, own: 2 };
  const after = { ...known, leasedAt: START + 3_000, now: START + 20_000 };
  t.is(usedAt(restore(row(1), after), START + 63_000), 7);
  t.is(usedAt(restore(row(1), after), START + 64_000), 0);
  t.is(usedAt(restore(row(2), after), START + 80_000), 7, 'of this process, until now');
  t.is(usedAt(restore(row(2), after), START + 81_000), 0);
  const late = { ...known, leasedAt: START + 100_000, now: START + 100_000 };
  t.is(usedAt(restore(row(1), late), START + 111_000), 7);
  t.is(usedAt(restore(row(1), late), START + 112_000), 0);
});

test('it is over when nothing counts, nothing runs, and its row means nothing', (t) => {
  const use = opened();
  const one = takenFrom(use, 10);
  t.false(isOver(use, START + 200_000), 'it runs');
  end(use, one, 10);
  t.false(isOver(use, START + 61_000), 'something may still be taken as used that was ahead');
  t.true(isOver(use, START + 112_000));
  unwritten(use);
  t.false(isOver(use, START + 112_000), 'its row may be another');
});

test('tokens that were given back are written soon, when they are more than half of what is ahead', (t) => {
  const use = openUseOf({ ...LIMITS, rpm: 1_000 });
  const one = take(use, { ...LIMITS, rpm: 1_000 }, 500, START);
  if (one.outcome === 'Refused') return t.fail();
  written(use, draft(use, START));
  t.false(wantsWrite(use));
  end(use, one.taken, 100);
  t.true(wantsWrite(use));
  written(use, draft(use, START));
  t.false(wantsWrite(use));
});

test('an answer that had to wait counts from when it is given', (t) => {
  const use = openUseOf(LIMITS);
  const one = takenFrom(use, 5, START);
  answer(use, one, START + 3_000);
  t.is(use.requests.used(Math.floor(START / 1_000) + 61), 1);
  t.is(use.tokens.used(Math.floor(START / 1_000) + 63), 5);
  t.true(wantsWrite(use));
  t.is(use.requests.used(Math.floor(START / 1_000) + 64), 0);
});
