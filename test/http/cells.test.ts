/** The cells of a Sweep over HTTP: what many requests for them take at most. */
import test from 'ava';
import { openDecodedObjects } from '../../http/decoded-objects.js';
import type { Exchange } from '../../http/exchange.js';
import { decodeObject, encodeObject, stampVersion } from '../../src/api/encode.js';
import { until } from '../e2e/until.js';
import { bearer, IN_DEFAULT, KEYS, object, openTestApi } from './support/test-api.js';

const large = Object.fromEntries(Array.from({ length: 28 }, (_, n) => [`A${n}`, ['v'.repeat(4096)]]));

function sweep(params: object): object {
  const template = { kind: 'Job', spec: { command: ['true'] } };
  return { matrix: { params }, repetitions: 1, maxParallel: 1, state: 'Suspended', template };
}

interface Page {
  readonly items: readonly { readonly index: number }[];
  readonly continue?: string;
}

test('a page of large cells is bounded in bytes, made in slices, and goes on where it ended', async (t) => {
  const api = await openTestApi(t, { slots: { from: async () => [] } });
  let slices = 0;
  let sizes: number[] = [];
  api.resources.slice = async () => void (slices += 1);
  await api.make('Sweep', 'sweeps', 'large', sweep({ ...large, B: ['1', '2', '3', '4', '5', '6', '7'] }));
  const pages = async (query: string): Promise<readonly number[]> => {
    const seen: number[] = [];
    slices = 0;
    sizes = [];
    for (let after: string | undefined = ''; after !== undefined;) {
      const answer = await api.call(`${IN_DEFAULT}/sweeps/large/cells?${query}&after=${after}`);
      const text = await answer.text();
      const page = JSON.parse(text) as Page;
      t.true(page.items.length > 0);
      seen.push(...page.items.map(({ index }) => index));
      sizes.push(text.length);
      after = page.continue;
    }
    return seen;
  };
  t.deepEqual(await pages('limit=500'), [0, 1, 2, 3, 4, 5, 6]);
  t.true(Math.max(...sizes) < 300_000, `${sizes.join()} characters`);
  t.true(slices >= 7, `${slices} slices`);
  t.deepEqual(await pages('limit=1&phase=Pending'), [0, 1, 2, 3, 4, 5, 6]);
  t.is(sizes.length, 7);
});

test('many requests for cells read few rows at once, and one of another org has the next turn', async (t) => {
  const reading: string[] = [];
  const waiting: (() => void)[] = [];
  let most = 0;
  let read = 0;
  const api = await openTestApi(t, {
    slots: {
      async from(org) {
        reading.push(org);
        read += 1;
        most = Math.max(most, waiting.length + 1);
        await new Promise<void>((resolve) => waiting.push(resolve));
        return [];
      },
    },
  });
  for (const org of ['acme', 'globex']) {
    const address = { org, kind: 'Sweep', project: 'default', name: 's' };
    await api.resources.put(address, object('Sweep', 's', 'default', sweep({ B: ['1'] })));
  }
  const route = `${IN_DEFAULT}/sweeps/s/cells?phase=Failed`;
  const many = Array.from({ length: 16 }, () => api.call(route));
  await until('they read', () => waiting.length === 2);
  const { peek } = api.resources;
  let hasCome = false;
  api.resources.peek = (address) => {
    hasCome ||= address.org === 'globex' && address.kind === 'Sweep';
    return peek(address);
  };
  const other = api.call(route, { headers: bearer(KEYS.other) });
  await until('another org asks', () => hasCome);
  // Each step ends one read, so that the next begins.
  let steps = 0;
  await until('the other org has its turn', () => {
    if (reading.includes('globex')) return true;
    steps += 1;
    waiting.shift()?.();
    return false;
  });
  t.true(steps <= 3, `${steps} reads before its own`);
  await until('all are read', () => {
    for (const end of waiting.splice(0)) end();
    return read === 17;
  });
  for (const end of waiting.splice(0)) end();
  t.is((await other).status, 200);
  for (const answer of await Promise.all(many)) t.is(answer.status, 200);
  t.is(most, 2);
});

test('a large object is decoded once for each version, however many ask about it', async (t) => {
  let decoded = 0;
  let turns = 0;
  const objects = openDecodedObjects(
    {
      async ofAnswer() {
        turns += 1;
        await new Promise((resolve) => setImmediate(resolve));
      },
    },
    (body) => {
      decoded += 1;
      return decodeObject(body);
    },
  );
  const address = { org: 'acme', kind: 'Sweep', project: 'default', name: 's' };
  const bodyOf = (version: number): Buffer => stampVersion(encodeObject(object('Sweep', 's', 'default')), version);
  const x = {} as Exchange;
  const found = await Promise.all(Array.from({ length: 100 }, () => objects.of(x, address, bodyOf(1))));
  t.is(new Set(found).size, 1);
  t.is(decoded, 1);
  await objects.of(x, address, bodyOf(2));
  t.is(decoded, 2);
  await objects.of(x, { ...address, org: 'globex' }, bodyOf(2));
  t.is(decoded, 3, 'of another org it is another object');
  t.is(turns, 102);
});
