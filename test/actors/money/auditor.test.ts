import test from 'ava';
import { openAuditor, type Auditor } from '../../../actors/money/auditor.js';
import { openAuditedLedger } from '../../../storage/ledger/audited.js';
import { until } from '../runtime-fixture.js';
import { openFixture } from '../../storage/fixtures.js';
import { budget, place } from '../../storage/money.js';

/** A pass that was asked for now has ended. */
async function audited(auditor: Auditor): Promise<void> {
  const before = auditor.view().lastPass;
  auditor.request();
  await until(() => auditor.view().lastPass !== before && !auditor.view().running, 'a pass ends');
}

test('the auditor goes over every org, says what differs and in which one, and is content again when that is mended', async (t) => {
  const f = await openFixture(t);
  const { postgres } = f.store;
  for (const org of ['o-1', 'o-2', 'o-3'])
    await f.committer.ledger(org, [
      ...[budget('b', '5'), { op: 'SetMode', mode: 'Prepaid' } as const],
      { op: 'Credit', grant: 'g', amountUSD: '20' },
    ]);
  await f.committer.ledger('o-4', [place('h', 'uid-none', '1')]);
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const problems: string[] = [];
  const auditor = openAuditor(
    {
      ...{ ledger: openAuditedLedger(postgres), every: 3_600_000, now: () => 7 },
      onProblem: (message) => void problems.push(message),
    },
    stop.signal,
  );
  await audited(auditor);
  const { lastPass, findings } = auditor.view();
  t.deepEqual(lastPass, { startTime: 7, endTime: 7, orgs: 4, lines: 6, unread: 0, findings: 1 });
  t.like(findings, [{ org: 'o-4', type: 'OrphanHold', key: 'h' }]);
  t.is(problems.length, 1);

  await f.committer.ledger('o-4', [{ op: 'Release', key: 'h' }]);
  await postgres.write({ name: 'break', text: `UPDATE grants SET remaining_usd = 19 WHERE org = 'o-3'` });
  await audited(auditor);
  t.like(auditor.view().findings, [{ org: 'o-3', type: 'GrantDiffers', uid: 'g' }]);
  t.like(auditor.view().lastPass, { orgs: 4, findings: 1 });
  await postgres.write({ name: 'mend', text: `UPDATE grants SET remaining_usd = 20` });
  await audited(auditor);
  t.like(auditor.view(), { running: false, lastPass: { findings: 0 }, findings: { length: 0 } });
});

test('an org that cannot be read is counted and reported, and the others are audited', async (t) => {
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const problems: string[] = [];
  const auditor = openAuditor(
    {
      ledger: {
        orgs: (after) => Promise.resolve(after === '' ? ['a', 'b', 'c'] : []),
        lines: () => Promise.resolve(2),
        findings: (org) => (org === 'b' ? Promise.reject(new Error('took too long')) : Promise.resolve([])),
      },
      ...{ every: 3_600_000, now: () => 7 },
      onProblem: (message) => void problems.push(message),
    },
    stop.signal,
  );
  await audited(auditor);
  t.like(auditor.view().lastPass, { orgs: 2, lines: 4, unread: 1, findings: 0 });
  t.deepEqual(problems, ['an org could not be audited: took too long']);
});
