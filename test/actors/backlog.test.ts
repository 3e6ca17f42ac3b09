/** An org whose work has piled up begins no more until some of it has ended. */
import test from 'ava';
import { begins, openBacklog } from '../../actors/admission/backlog.js';
import { jobKind } from '../../src/kinds/job/index.js';
import { secretKind } from '../../src/kinds/secret/index.js';

const attempt = (org: string) => ({ org, kind: 'Attempt', project: 'default', name: 'a' });

test('work of an org is refused while as many of its Attempts as it may have wait or run, and other orgs are not', (t) => {
  let asked = 0;
  const backlog = openBacklog(3, (org) => (org === 'o-1' ? asked : 0));
  backlog.load(new Map([['o-1', 2]]));
  t.is(backlog.refusal(jobKind, 'o-1'), undefined);
  backlog.committed(attempt('o-1'), false, true);
  backlog.committed({ ...attempt('o-1'), kind: 'Job' }, false, true);
  t.like(backlog.refusal(jobKind, 'o-1'), { code: 'QuotaExceeded', retryAfterSeconds: 10 });
  t.is(backlog.refusal(secretKind, 'o-1'), undefined, 'it runs nothing');
  t.is(backlog.refusal(jobKind, 'o-2'), undefined);
  backlog.committed(attempt('o-1'), true, true);
  t.truthy(backlog.refusal(jobKind, 'o-1'));
  backlog.committed(attempt('o-1'), true, false);
  t.is(backlog.refusal(jobKind, 'o-1'), undefined);
  asked = 1;
  t.truthy(backlog.refusal(jobKind, 'o-1'), 'an Attempt that a commit has asked for counts before it is made');
});

test('what begins to run by a change counts as new work', (t) => {
  t.true(begins({ state: 'Suspended' }, { state: 'Running' }));
  t.true(begins({ state: 'Stopped' }, { state: 'Running' }));
  t.false(begins({ state: 'Running' }, { state: 'Running' }));
  t.false(begins({ state: 'Running' }, { state: 'Suspended' }));
  t.false(begins({}, {}));
});
