/** Requests that hold the event loop for long come through one at a time, by org (`http/heavy-turns.ts`). */
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { Exchange } from '../../http/exchange.js';
import { betweenParts, openHeavyTurns } from '../../http/heavy-turns.js';

const LARGE = 1024 * 1024;

/** As much of a request as the turns look at; `answer` ends it. */
function request(org: string, { url = '/', type = 'application/json' } = {}) {
  const res = Object.assign(new EventEmitter(), { destroyed: false });
  const header = (name: string): string | undefined => (name === 'content-type' ? type : undefined);
  const x = { caller: { org }, res, url, header } as unknown as Exchange;
  return { x, answer: () => void res.emit('close') };
}

test('large bodies come one at a time, and an org with many waits for another between two of its own', async (t) => {
  const turns = openHeavyTurns();
  const order: string[] = [];
  let atOnce = 0;
  const send = async (org: string): Promise<void> => {
    const { x, answer } = request(org);
    await turns.ofBody(x, LARGE);
    atOnce += 1;
    t.is(atOnce, 1);
    order.push(org);
    await sleep(1);
    atOnce -= 1;
    answer();
  };
  await Promise.all([...Array.from({ length: 20 }, () => send('greedy')), send('modest'), send('modest')]);
  t.deepEqual(order.slice(0, 5), ['greedy', 'greedy', 'modest', 'greedy', 'modest']);
  t.is(order.length, 22);
});

test('an answer that takes long, and a client that has left, hold no turn', async (t) => {
  const turns = openHeavyTurns();
  await turns.ofBody(request('slow').x, LARGE);
  const gone = request('gone');
  Object.assign(gone.x.res, { destroyed: true });
  await turns.ofBody(gone.x, LARGE);
  await t.notThrowsAsync(turns.ofBody(request('next').x, LARGE));
});

test('a request that has been read and decided holds no turn while its commit is under way', async (t) => {
  // Its answer never comes, and the bound of a turn is far off.
  const turns = openHeavyTurns(600_000);
  const first = request('writes').x;
  await turns.ofBody(first, LARGE);
  let isNext = false;
  const next = request('writes');
  const second = turns.ofBody(next.x, LARGE).then(() => void (isNext = true));
  t.false(isNext);
  await betweenParts(first, LARGE);
  await Promise.race([second, once(AbortSignal.timeout(30_000), 'abort')]);
  t.true(isNext);
  next.answer();
});

test('an org has a bound of those that wait, and what is small waits for nobody', async (t) => {
  const turns = openHeavyTurns();
  await turns.ofBody(request('full').x, LARGE);
  const line = Array.from({ length: 64 }, async () => turns.ofBody(request('full').x, LARGE));
  await t.throwsAsync(turns.ofBody(request('full').x, LARGE), { message: /64 large requests of this org wait/ });
  await turns.ofBody(request('full').x, 2_048);
  await turns.ofUrl(request('full', { url: '/x?labelSelector=a' }).x);
  await turns.ofAnswer(request('full').x, 2_048);
  await t.throwsAsync(turns.ofAnswer(request('full').x, LARGE));
  await t.throwsAsync(turns.ofUrl(request('full', { url: `/x?labelSelector=${'a,'.repeat(2_000)}` }).x));
  await t.throwsAsync(
    turns.ofBody(request('full', { type: 'application/yaml' }).x, 2_048),
    undefined,
    'YAML costs more',
  );
  t.is(line.length, 64);
});

test('a heavy request lets what waits for the event loop go first, between two parts of its work; a light one goes on', async (t) => {
  t.is(betweenParts({ endHeavyTurn: undefined }, 100), undefined);
  const order: string[] = [];
  setImmediate(() => order.push('another'));
  await betweenParts({ endHeavyTurn: undefined }, 100 * 1024);
  order.push('the second part');
  t.deepEqual(order, ['another', 'the second part']);
});
