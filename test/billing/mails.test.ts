/** Mails of Budgets, from the settings of a whole service to a real SMTP server. */
import test from 'ava';
import { listAt, objectOf, path, textAt } from '../e2e/client.js';
import { until } from '../e2e/until.js';
import { MAIL_FROM, MAIL_PASSWORD, shareWithWork } from '../kubectl/with-work.js';

const BUDGETS = path('budgets', '');

test('what a Job costs is mailed once for each threshold to those whom the Budget and the org name, by the operator’s mail server', async (t) => {
  const { service, mail, close } = await shareWithWork();
  t.teardown(close);
  // Others have Budgets, too.
  const received = () => mail.received.filter(({ source }) => source.includes('Subject: Budget tiny:'));
  const client = service.client();
  await client.post(path('members', ''), objectOf('Member', 'bill', { email: 'bill@example.org', role: 'Billing' }));
  const spec = {
    limitUSD: '0.000000001',
    action: 'Notify',
    thresholds: [50, 100],
    notify: { emails: ['ada@example.org'] },
  };
  const made = await client.post(BUDGETS, objectOf('Budget', 'tiny', spec));
  t.is(made.status, 201, made.text);
  t.false(made.text.includes('MailNotConfigured'));
  const job = { command: ['true'], resources: { cpu: '100m', memory: '64Mi', disk: '16Mi' } };
  await client.post(path('jobs', 'default'), objectOf('Job', 'one', job));
  await until('the Budget hears of both mails', async () => {
    const { body } = await client.get(`${BUDGETS}/tiny`);
    const mailed = listAt(body, 'status', 'conditions').find((one) => textAt(one, 'type') === 'NoticesMailed');
    return mailed !== undefined && textAt(mailed, 'reason') === 'Mailed' && received().length >= 4;
  });
  const asked = (await client.get(path('members', ''))).body;
  const members = listAt(asked, 'items').map((one) => textAt(one, 'spec', 'email'));
  const owners = members.filter((email) => email !== 'bill@example.org').length;
  const sent = received().map(({ to, source }) => `${to.join()} ${/: (\d+)%/.exec(source)?.[1] ?? ''}`);
  t.is(new Set(sent).size, sent.length, 'each once');
  for (const to of ['ada@example.org', 'bill@example.org'])
    for (const threshold of [50, 100]) t.true(sent.includes(`${to} ${threshold}`), `${to} ${threshold}`);
  t.true(sent.length <= 2 * (2 + owners), sent.join());
  for (const { user, from } of mail.received) t.is(`${String(user)} ${from}`, `troupe ${MAIL_FROM}`);
  t.regex((await client.get('/metrics')).text, /troupe_mail_tries_total\{phase="Sent"\} [1-9]/);
  t.false(service.log().includes(MAIL_PASSWORD));
});
