/** Routes that are declared and not served yet: they say so with 501, after everything that the built ones will refuse. */
import test from 'ava';
import { openCommands } from '../../actors/work/commands.js';
import type { AttachDeps } from '../../actors/work/attach.js';
import { wholeDocument } from '../../http/openapi/document.js';
import { declaredSubresources } from '../../http/routes/declared/index.js';
import { openapiPath } from '../../http/routes/declared/declared.js';
import { API_GROUP } from '../../src/brand.js';
import { refuse } from '../../src/api/refusal.js';
import { KINDS } from '../../src/kinds/index.js';
import { USD } from '../../src/money/usd.js';
import { BASE, bearer, IN_DEFAULT, KEYS, object, openTestApi, type TestApi, NO_MONTHS } from './support/test-api.js';
import { at, json } from './support/json.js';

const WITHOUT_KEY = { authorization: '' };

/** Every name in the template becomes `a`. */
function filled(template: string): string {
  return openapiPath(template).replaceAll(/\{\w+\}/g, 'a');
}

interface Case {
  readonly method: string;
  readonly path: string;
  /** As the answer names it. */
  readonly route: string;
}

const SUBRESOURCES = KINDS.flatMap((kind) => {
  const { plural } = kind;
  const base = kind.scope === 'org' ? BASE : IN_DEFAULT;
  return declaredSubresources(kind).map(({ method, path, verb }) => ({
    ...{ kind, verb, method },
    path: `${base}/${plural}/a/${filled(path)}`,
    route: `…/${plural}/{name}/${path}`,
  }));
});

const CASES: readonly Case[] = SUBRESOURCES;

function nothingToCall(): never {
  throw refuse('NotFound', 'there is no such model');
}

async function withObjects(api: TestApi): Promise<void> {
  for (const { kind } of SUBRESOURCES) {
    const project = kind.scope === 'org' ? '' : 'default';
    await api.resources.put({ org: 'acme', kind: kind.kind, project, name: 'a' }, object(kind.kind, 'a', project));
  }
}

test('each answers 501 and names itself', async (t) => {
  const api = await openTestApi(t);
  await withObjects(api);
  for (const { method, path, route } of CASES) {
    const answer = await api.call(path, { method });
    t.is(answer.status, 501, `${method} ${path}`);
    if (method === 'HEAD') continue;
    const status = await json(answer);
    t.is(at(status, 'reason'), 'Unsupported');
    t.true(String(at(status, 'message')).includes(`${method} ${route}`), String(at(status, 'message')));
  }
});

test('without a key each is Unauthorized', async (t) => {
  const api = await openTestApi(t);
  for (const { method, path } of CASES) {
    t.is((await api.call(path, { method, headers: WITHOUT_KEY })).status, 401, `${method} ${path}`);
  }
});

test('a Viewer is Forbidden to write and to go inside', async (t) => {
  const api = await openTestApi(t);
  await withObjects(api);
  for (const { method, path, verb } of SUBRESOURCES) {
    const { status } = await api.call(path, { method, headers: bearer(KEYS.viewer) });
    if (verb !== 'read') t.is(status, 403, `${method} ${path}`);
  }
});

test('an object that does not exist is NotFound, where objects of its kind can exist', async (t) => {
  const api = await openTestApi(t);
  t.is((await api.call(`${IN_DEFAULT}/jobs/none/checkpoints`)).status, 404);
  await withObjects(api);
  const other = await api.call(`${IN_DEFAULT}/jobs/a/checkpoints`, { headers: bearer(KEYS.other) });
  t.is(other.status, 404);
});

test('another method is refused with those that there will be, and another path does not exist', async (t) => {
  const api = await openTestApi(t);
  await withObjects(api);
  const answer = await api.call(`${IN_DEFAULT}/jobs/a/checkpoints`, { method: 'PUT' });
  t.is(answer.status, 405);
  t.is(answer.headers.get('allow'), 'GET, POST');
  t.is((await api.call(`${IN_DEFAULT}/jobs/a/checkpoints/1`)).status, 404);
  t.is((await api.call(`${BASE}/wallet/none`)).status, 404);
  t.is((await api.call(`${IN_DEFAULT}/wallet`)).status, 404);
});

test('every operation of the OpenAPI document is there: served, or 501', async (t) => {
  const api = await openTestApi(t, {
    events: { list: async () => ({ items: [] }) },
    blobs: {
      put: async () => ({ outcome: 'Created', digest: `sha256:${'0'.repeat(64)}`, size: 0 }),
      head: async () => undefined,
      get: async () => undefined,
    },
    ledger: {
      wallet: async () => ({ mode: 'Unlimited', balanceUSD: new USD(0), heldUSD: new USD(0) }),
      entries: async () => [],
      months: NO_MONTHS,
      spend: {
        rows: async () => [],
        rate: async () => ({ perHourUSD: new USD(0), lastDayUSD: new USD(0), lastWeekUSD: new USD(0) }),
      },
    },
    commands: openCommands({ read: async () => undefined } as unknown as AttachDeps),
    inference: {
      ...{ models: () => [], refused: () => undefined, admit: nothingToCall, forward: nothingToCall },
      ...{ find: nothingToCall, spool: nothingToCall, follow: () => () => undefined },
    },
  });
  const document = wholeDocument({ title: 'test', version: '1', group: API_GROUP, kinds: KINDS });
  const methods = new Set(['get', 'head', 'post', 'put', 'patch', 'delete', 'options']);
  for (const [template, item] of Object.entries(Object(at(document, 'paths')) as Record<string, object>)) {
    // What operators do is not wired in this test.
    if (template.startsWith('/ops/')) continue;
    for (const method of Object.keys(item).filter((key) => methods.has(key))) {
      const answer = await api.call(filled(template), { method: method.toUpperCase() });
      const said = `${method} ${template}: ${answer.status}`;
      t.true(answer.status < 500 || answer.status === 501, said);
      t.not(answer.status, 405, said);
      if (answer.status !== 404 || method === 'head') continue;
      t.notRegex(await answer.text(), /the path .* does not exist/, said);
    }
  }
});
