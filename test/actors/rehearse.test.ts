/** What a dry run says of an org that is full, and of a pause. What it says of money is tested over HTTP (`test/billing/budgets.test.ts`). */
import test from 'ava';
import type { Admission } from '../../actors/admission/admission.js';
import type { Pause } from '../../actors/admission/pause.js';
import type { WriteRequest } from '../../actors/resource-service.js';
import { submit } from '../../actors/submit.js';
import { openDraft } from '../../actors/resource/draft.js';
import { rehearse } from '../../actors/resource/rehearse.js';
import type { ApiObject } from '../../src/api/object.js';
import { estimateWork, obstruct } from '../../src/kinds/estimate.js';
import { openKindCaps } from '../../actors/admission/kind-caps.js';
import { jobKind } from '../../src/kinds/job/index.js';
import { namespaceKind } from '../../src/kinds/project/index.js';
import type { Estimate } from '../../src/kinds/shapes/status.js';
import { masterKey, masterKeys } from '../../storage/envelope/master-key.js';
import { priceTags } from '../../storage/envelope/price-tags.js';
import { openFullOrg } from '../../storage/org-quota.js';
import { openStore } from '../../storage/open.js';
import { contextAt, NOW, objectOf, owner } from '../kinds/decide.js';
import { openTestDatabase } from '../support/postgres.js';

const ADDRESS = { org: 'acme', kind: 'Job', project: 'default', name: 'one' };
const deps = { decisionContext: () => contextAt(), fullOrg: async () => 7 };

const NOTHING = { check: () => undefined, owners: () => undefined, rule: () => undefined };

function priced(): ApiObject {
  const job = objectOf(jobKind, { command: ['x'] });
  const work = jobKind.pricedWork?.(job) ?? { parts: [] };
  return { ...job, status: { ...(job.status as object), estimate: estimateWork(work, undefined, NOW) } };
}

test('a full org stands against each new object that has an estimate, beside what was found before, and against no change', async (t) => {
  const reasonsOf = async (object: ApiObject, version = 0): Promise<Estimate['blockingReasons']> => {
    const draft = openDraft(ADDRESS, version, object, undefined, undefined);
    const { status } = await rehearse(draft, deps);
    return (status as { readonly estimate?: Estimate }).estimate?.blockingReasons;
  };
  const [reason, ...others] = (await reasonsOf(priced())) ?? [];
  t.like(reason, { code: 'QuotaExceeded', message: 'the organisation already holds 7 objects, which is its limit' });
  t.truthy(reason?.fix);
  t.is(others.length, 0);
  const before = obstruct(priced(), { refusals: [{ code: 'Unsupported', message: 'not yet' }] });
  t.deepEqual(
    (await reasonsOf(before))?.map(({ code }) => code),
    ['Unsupported', 'QuotaExceeded'],
  );
  t.is(await reasonsOf(priced(), 3), undefined);
  const plain = objectOf(namespaceKind, {});
  t.is(await rehearse(openDraft(ADDRESS, 0, plain, undefined, undefined), deps), plain);
});

test('a pause of new work stands against a dry run of it, which keeps the tag of its price', async (t) => {
  const keys = masterKeys(masterKey(Buffer.alloc(32, 1)));
  const shown: (ApiObject | undefined)[] = [];
  const rehearsed = async (paused: Pause | undefined) => {
    const request = { verb: 'create', dryRun: true, duplicates: [], caller: owner, body: { spec: { command: ['x'] } } };
    const submitted = submit(ADDRESS, request as unknown as WriteRequest, {
      ...{ kindOf: () => jobKind, decisionContext: () => contextAt(), clock: () => NOW, paused: () => paused },
      admission: { ...NOTHING, enter: () => () => undefined, warnings: async () => [] } as unknown as Admission,
      kindCaps: openKindCaps(new Map(), async () => 0),
      deliver(_address, item) {
        shown.push(item.item === 'write' ? item.prepared?.object : undefined);
        if (item.item === 'write')
          item.settle({ outcome: 'Done', status: 201, body: Buffer.from(''), etag: '', warnings: [] });
        return true;
      },
      ...{
        backlog: { refusal: () => undefined },
        turns: (_org, work) => work(),
        responses: undefined as never,
        priceTags: priceTags(keys),
      },
    });
    const reply = await submitted;
    return reply.outcome === 'Done' ? reply.etag : undefined;
  };
  const free = await rehearsed(undefined);
  t.truthy(free);
  t.is(await rehearsed({ what: 'Work', message: 'paused' }), free);
  const reasons = shown.map(
    (object) => (object?.status as { estimate?: Estimate } | undefined)?.estimate?.blockingReasons,
  );
  t.is(reasons[0], undefined);
  t.like(reasons[1]?.[0], { code: 'AdmissionsPaused', message: 'paused' });
  t.truthy(reasons[1]?.[0]?.fix);
});

test('an org is full when it holds as many objects as it may', async (t) => {
  const { url } = await openTestDatabase(t);
  const store = await openStore({ url, seal: (_parts, plain) => plain, open: (_parts, sealed) => sealed });
  t.teardown(() => store.close());
  const full = openFullOrg(store.postgres, 2);
  t.is(await full('acme'), undefined);
  const count = (objects: number) =>
    store.postgres.write({
      name: `count ${objects}`,
      text: `INSERT INTO org_counts VALUES ('acme', ${objects}) ON CONFLICT (org) DO UPDATE SET objects = ${objects}`,
    });
  await count(1);
  t.is(await full('acme'), undefined);
  await count(2);
  t.is(await full('acme'), 2);
});
