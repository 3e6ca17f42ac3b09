/** Listings of directories over HTTP: how much memory they take, and from whom. */
import test from 'ava';
import type { FilePlace, Files } from '../../actors/work/files/open.js';
import { until } from '../e2e/until.js';
import { at, json } from './support/json.js';
import { bearer, IN_DEFAULT, KEYS, openTestApi } from './support/test-api.js';

const KIB = 1024;

test('listings of one org take half of the memory of answers, one that finds no room is refused, and short ones and other orgs go on', async (t) => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  let held = 0;
  const entries = [{ name: 'f', type: 'File' as const, size: 1, mode: '0644', modified: 0 }];
  const files: Pick<Files, 'list'> = {
    // The path says how much is heard of its entries, and whether the listing waits.
    async list({ path }: FilePlace, _signal, hold) {
      const [, bytes, waits] = path.split('/');
      hold?.(Number(bytes) * KIB);
      held += 1;
      if (waits === 'waits') await finished;
      return { entries, truncated: false };
    },
  };
  const api = await openTestApi(t, { files: files as Files, limits: { answerBytes: KIB * KIB } });
  const list = (path: string, key = KEYS.owner): Promise<Response> =>
    api.call(`${IN_DEFAULT}/sandboxes/box/files?list=true&path=${path}`, { headers: bearer(key) });
  // Each counts four times what comes.
  const large = [list('/64/waits'), list('/64/waits')];
  await until('both hold what they have', () => held === 2);
  const refused = await list('/64');
  t.is(refused.status, 429);
  t.regex(String(at(await json(refused), 'fix')), /^List fewer/);
  t.is((await list('/16')).status, 200);
  t.is((await list('/64', KEYS.other)).status, 200);
  finish();
  for (const answer of await Promise.all(large)) t.is(at(await json(answer), 'items.0.name'), 'f');
  await until('there is room again', async () => (await list('/64')).status === 200);
});
