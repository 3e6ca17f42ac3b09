import test, { type ExecutionContext } from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { timerId } from '../../storage/queues/pointer.js';
import { openTimers, type Timers, type TimersOptions } from '../../storage/queues/timers.js';
import type { StoredTimer } from '../../storage/store.js';
import { askRedis, DRIVERS, REDIS, until, type BackendUnderTest } from './backends.js';

/** The rows, as Postgres would hold them, and what was fired. A row goes when its object has dealt with the firing. */
function world() {
  const rows = new Map<string, StoredTimer>();
  const fired: { id: string; late: number }[] = [];
  const errors: Error[] = [];
  let away = false;
  return {
    rows,
    fired,
    errors,
    setAway: (value: boolean) => (away = value),
    /** Firing is at least once: repeats do not count. */
    firedIds: () => [...new Set(fired.map((entry) => entry.id))],
    store: {
      timersDue(before: number, limit: number, from = 0) {
        if (away) return Promise.reject(new Error('the store is away'));
        const due = [...rows.values()].filter((row) => row.at < before && row.at >= from);
        return Promise.resolve(due.toSorted((a, b) => a.at - b.at).slice(0, limit));
      },
    },
    timer(name: string, inMs: number, generation = 1): StoredTimer {
      const address = { org: 'o-1', kind: 'Job', project: 'default', name: 'job' };
      return { address, uid: 'uid-1', timer: name, generation, at: Date.now() + inMs };
    },
    commit(timer: StoredTimer): StoredTimer {
      for (const [id, row] of rows) if (row.timer === timer.timer) rows.delete(id);
      rows.set(timerId(timer), timer);
      return timer;
    },
  };
}

type World = ReturnType<typeof world>;

async function start(
  t: ExecutionContext,
  it: World,
  under: BackendUnderTest,
  more: Partial<TimersOptions> = {},
): Promise<Timers> {
  const ending = new AbortController();
  const timers = await openTimers({
    store: it.store,
    clock: Date.now,
    backend: under.backend,
    sweepMs: 500,
    fire(timer) {
      it.fired.push({ id: timerId(timer), late: Date.now() - timer.at });
      it.rows.delete(timerId(timer));
    },
    onError: (error) => it.errors.push(error),
    signal: ending.signal,
    ...more,
  });
  await until(() => timers.state().reachable, 'the first sweep');
  // A Redis that is still being connected to refuses; that is reported, passes, and is no concern of the tests.
  await until(async () => {
    const before = it.errors.length;
    timers.arm(it.timer('probe', 60_000));
    await until(() => timers.state().buffered === 0, 'the probe is put in or refused');
    await sleep(20);
    return timers.state().reachable && it.errors.length === before;
  }, 'it is connected');
  it.errors.length = 0;
  t.teardown(() => timers.close());
  return timers;
}

for (const driver of DRIVERS) {
  const run = driver.missing === undefined ? test : test.skip;
  const on = driver.missing === undefined ? `on ${driver.name}` : `on ${driver.name} (skipped: ${driver.missing})`;

  run(`timers fire in the order of their times, and none before its own ${on}`, async (t) => {
    const it = world();
    const timers = await start(t, it, await driver.open(t), { sweepMs: 60_000 });
    const all = [3_600, 1_200, 2_800, 400, 2_000].map((ms) => it.commit(it.timer(`t${ms}`, ms)));
    for (const timer of all) timers.arm(timer);
    await until(() => it.firedIds().length >= 5, 'all have fired');
    t.deepEqual(it.firedIds(), all.toSorted((a, b) => a.at - b.at).map(timerId));
    t.true(
      it.fired.every((entry) => entry.late >= 0),
      JSON.stringify(it.fired),
    );
  });

  run(`a cleared timer wakes no object, and the same name armed again in its own firing does ${on}`, async (t) => {
    const it = world();
    let timers: Timers | undefined;
    timers = await start(t, it, await driver.open(t), {
      sweepMs: 60_000,
      fire(timer) {
        it.fired.push({ id: timerId(timer), late: 0 });
        it.rows.delete(timerId(timer));
        if (timer.timer === 'again' && timer.generation < 4) {
          timers?.arm(it.commit(it.timer('again', 30, timer.generation + 1)));
        }
      },
    });
    const buffered = it.commit(it.timer('cleared at once', 100));
    timers.arm(buffered);
    timers.clear(buffered);
    it.rows.clear();
    const stored = it.commit(it.timer('cleared later', 3_000));
    timers.arm(stored);
    await until(() => timers.state().buffered === 0, 'it is put in');
    it.rows.delete(timerId(stored));
    timers.clear(stored);
    timers.arm(it.commit(it.timer('again', 10)));
    const last = it.commit(it.timer('last: a name with blanks, ünïcode', 3_300));
    timers.arm(last);
    await until(() => it.firedIds().includes(timerId(last)), 'the last one');
    t.deepEqual(it.firedIds(), ['uid-1.again.1', 'uid-1.again.2', 'uid-1.again.3', 'uid-1.again.4', timerId(last)]);
  });

  run(`a timer beyond the horizon waits in its row and still fires on time ${on}`, async (t) => {
    const it = world();
    const timers = await start(t, it, await driver.open(t), { horizonMs: 400, sweepMs: 50 });
    const far = it.commit(it.timer('far', 1_500));
    timers.arm(far);
    await until(() => it.fired.length > 0, 'it has fired');
    t.deepEqual(it.firedIds(), [timerId(far)]);
    // Not by the sweep for overdue rows, which would come a second after its time.
    t.true((it.fired[0]?.late ?? Infinity) < 900, String(it.fired[0]?.late));
  });

  run(`a new process re-arms from the rows what its predecessor had armed ${on}`, async (t) => {
    const it = world();
    const under = await driver.open(t);
    const first = await start(t, it, under);
    const near = it.commit(it.timer('near', 1_500));
    first.arm(near);
    await first.close();
    const missed = it.commit(it.timer('missed', -30_000));
    t.deepEqual(it.fired, []);
    await start(t, it, under);
    await until(() => it.firedIds().length >= 2, 'both have fired');
    t.deepEqual(it.firedIds(), [timerId(missed), timerId(near)]);
  });

  run(`timers fire after every connection of the backend was cut ${on}`, async (t) => {
    const it = world();
    const under = await driver.open(t);
    const timers = await start(t, it, under);
    const before = it.commit(it.timer('armed before', 1_000));
    timers.arm(before);
    await until(() => timers.state().buffered === 0, 'it is put in');
    await under.cut();
    const after = it.commit(it.timer('armed after', 1_500));
    timers.arm(after);
    await until(() => it.firedIds().length >= 2, 'both have fired');
    t.deepEqual(it.firedIds(), [timerId(before), timerId(after)]);
    await until(() => timers.state().reachable, 'it is reachable again');
    const later = it.commit(it.timer('later', 100));
    timers.arm(later);
    await until(() => it.firedIds().length >= 3, 'the one armed after that');
  });

  run(`a backend that goes while its queue is closed ends nothing but its connections ${on}`, async (t) => {
    const it = world();
    const under = await driver.open(t);
    for (let n = 0; n < 8; n += 1) {
      const timers = await start(t, it, under);
      const cut = under.cut();
      await sleep(n);
      await t.notThrowsAsync(timers.close());
      await cut;
    }
  });

  run(`a backend that gives no jobs is asked for them at a pace, and used once it does ${on}`, async (t) => {
    const it = world();
    const under = await driver.open(t);
    // Makes the tables.
    await (await start(t, it, under)).close();
    await under.refuse();
    const refusals: number[] = [];
    const timers = await start(t, it, under, {
      sweepMs: 60_000,
      onError: (error) => /NOPERM|does not exist/.test(error.message) && refusals.push(Date.now()),
    });
    await until(() => refusals.length >= 4, 'it was asked several times');
    // Asked without a pause it would be thousands of times a second.
    t.true((refusals[3] ?? 0) - (refusals[0] ?? 0) >= 500, refusals.join(', '));
    await under.allow();
    const timer = it.commit(it.timer('t', 100));
    timers.arm(timer);
    await until(() => it.firedIds().includes(timerId(timer)), 'it has fired');
  });

  run(`timers fire after the backend has lost everything it held ${on}`, async (t) => {
    const it = world();
    const under = await driver.open(t);
    const timers = await start(t, it, under);
    const all = Array.from({ length: 50 }, (_, n) => it.commit(it.timer(`t${n}`, 1_500 + 10 * n)));
    for (const timer of all) timers.arm(timer);
    await until(() => timers.state().buffered === 0, 'they are put in');
    await under.wipe();
    await until(() => it.rows.size === 0, 'all have fired');
    t.deepEqual(it.firedIds().toSorted(), all.map(timerId).toSorted());
  });

  const alone = driver.missing === undefined ? test.serial : test.serial.skip;
  alone(`a lone timer is at most 60 ms late ${on}`, async (t) => {
    const it = world();
    const timers = await start(t, it, await driver.open(t), { sweepMs: 60_000 });
    for (let n = 0; n < 15; n += 1) {
      timers.arm(it.commit(it.timer(`t${n}`, 150)));
      await until(() => it.fired.length > n, 'it has fired');
    }
    const late = it.fired.map((entry) => entry.late).toSorted((a, b) => a - b);
    t.log(`late by ${late.join(', ')} ms`);
    // The best of them: what the others add is the load of the machine that runs the tests.
    t.true((late[0] ?? Infinity) <= 60, late.join(', '));
  });

  run(`a fire that throws and a store that is away stop neither the timers nor the process ${on}`, async (t) => {
    const it = world();
    const timers = await start(t, it, await driver.open(t), {
      sweepMs: 50,
      fire(timer) {
        if (timer.timer === 'bad') throw new Error('no such object');
        it.fired.push({ id: timerId(timer), late: 0 });
        it.rows.delete(timerId(timer));
      },
    });
    timers.arm(it.commit(it.timer('bad', 10)));
    it.setAway(true);
    await until(() => it.errors.some((error) => /away/.test(error.message)), 'a sweep fails');
    it.setAway(false);
    const good = it.commit(it.timer('good', 100));
    timers.arm(good);
    await until(() => it.firedIds().includes(timerId(good)), 'the other has fired');
    await until(
      () => it.errors.filter((error) => /no such object/.test(error.message)).length >= 2,
      'it is fired again',
    );
    t.pass();
  });

  alone(`10,000 timers of one moment all fire ${on}`, async (t) => {
    const it = world();
    const timers = await start(t, it, await driver.open(t), { sweepMs: 1_000 });
    const at = Date.now() + 1_000;
    for (let n = 0; n < 10_000; n += 1) timers.arm(it.commit({ ...it.timer(`t${n}`, 0), at }));
    await until(() => it.rows.size === 0, 'all have fired', 60_000);
    t.is(new Set(it.firedIds()).size, 10_000);
  });
}

const onRedis = REDIS.missing === undefined ? test : test.skip;
onRedis('a Redis that refuses its first connections stops no sweep, and is used once it does not', async (t) => {
  const it = world();
  const under = await REDIS.open(t);
  // BullMQ asks for it before all else.
  await askRedis(under.backend.url, 'ACL', 'SETUSER', 'default', '-info');
  const timers = await start(t, it, under, { sweepMs: 200 });
  await until(() => it.errors.some((error) => /NOPERM/.test(error.message)), 'it is refused');
  const soon = it.commit(it.timer('soon', 10));
  timers.arm(soon);
  await until(() => it.firedIds().includes(timerId(soon)), 'the sweep fires it');

  await askRedis(under.backend.url, 'ACL', 'SETUSER', 'default', '+info');
  it.commit(it.timer('later', 30_000));
  await until(
    async () => (await askRedis(under.backend.url, 'ZCARD', 'bull:timers:delayed')) === 1,
    'what is due later is put into it',
  );
  t.pass();
});
