/** What sends mail, against a real SMTP server: what arrives, what is refused for good, what is to be tried again, and what is never said. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { isMailAddress, type Mail } from '../../../src/engines/mail/engine.js';
import { openSmtp } from '../../../src/engines/mail/smtp.js';
import { parseSmtpUrl, type SmtpServer } from '../../../src/engines/mail/smtp-server.js';
import { certificates, missing } from '../dialer/server.js';
import { openSmtpServer } from '../../support/smtp-server.js';

const FROM = 'budgets@example.org';
const MAIL: Mail = {
  ...{ id: '11111111-2222-4333-8444-555555555555', to: 'ada@example.org' },
  ...{ subject: 'Budget "büro": 80%\r\nBcc: eve@example.org', text: 'Achtzig Prozent.\n.\nDas ist alles.\n' },
};

const clear = (port: number, more: Partial<SmtpServer> = {}): SmtpServer => ({
  ...{ host: '127.0.0.1', port, tls: 'Off' },
  ...more,
});

test('a mail arrives once, whole, for its one recipient, whatever stands in its subject', async (t) => {
  const server = await openSmtpServer();
  t.teardown(server.close);
  const engine = await openSmtp({ server: clear(server.port), from: FROM });
  t.deepEqual(await engine.send(MAIL), { outcome: 'Sent' });
  t.is(server.received.length, 1);
  const [received] = server.received;
  t.like(received, { from: FROM, to: [MAIL.to], secure: false, user: undefined });
  const [head = '', ...body] = (received?.source ?? '').split('\n\n');
  const headers = head.split('\n');
  t.true(headers.includes(`Message-ID: <${MAIL.id}@example.org>`), head);
  t.true(headers.includes('Auto-Submitted: auto-generated'), head);
  t.true(headers.includes(`To: ${MAIL.to}`), head);
  t.true(
    headers.some((line) => line.startsWith('From: Troupe <budgets@example.org>')),
    head,
  );
  t.false(
    headers.some((line) => /^bcc/i.test(line)),
    'a line break begins no header',
  );
  t.true(body.join('\n\n').includes('Achtzig Prozent.\n.\nDas ist alles.'));
});

test('what the server refuses for good has another outcome than what it may take later', async (t) => {
  const server = await openSmtpServer();
  t.teardown(server.close);
  const engine = await openSmtp({ server: clear(server.port), from: FROM });
  server.refuse(MAIL.to, 550, '5.1.1 no such mailbox');
  t.deepEqual(await engine.send(MAIL), { outcome: 'Refused', message: '550 5.1.1 no such mailbox' });
  server.refuse(MAIL.to, 451, '4.7.1 greylisted');
  t.deepEqual(await engine.send(MAIL), { outcome: 'Retry', message: '451 4.7.1 greylisted' });
  server.accept(MAIL.to);
  t.is((await engine.send(MAIL)).outcome, 'Sent');
  t.is((await engine.send({ ...MAIL, to: 'ada@example.org, eve@example.org' })).outcome, 'Refused');
  t.is(server.received.length, 1);

  await server.close();
  t.is((await engine.send(MAIL)).outcome, 'Retry', 'nobody answers');
});

test('a sender or a password that the server does not take ends no mail, and the password stands in no message', async (t) => {
  const login = { user: 'troupe', password: 'hunter2-$ecret' };
  const server = await openSmtpServer({
    ...{ authOptional: false, allowInsecureAuth: true, disabledCommands: ['STARTTLS'] },
    onAuth({ password = '' }, _session, done) {
      if (password === login.password) done(null, { user: 'troupe' });
      else done(Object.assign(new Error(`wrong password ${password}`), { responseCode: 535 }));
    },
    onMailFrom({ address }, _session, done) {
      done(address === FROM ? null : Object.assign(new Error('not your address'), { responseCode: 553 }));
    },
  });
  t.teardown(server.close);
  const open = (from: string, password: string) =>
    openSmtp({ server: clear(server.port, { login: { ...login, password } }), from });
  t.is((await (await open(FROM, login.password)).send(MAIL)).outcome, 'Sent');
  t.is(server.received[0]?.user, 'troupe');
  t.is((await (await open('eve@example.org', login.password)).send(MAIL)).outcome, 'Retry');
  const wrong = await (await open(FROM, 'also-$ecret')).send(MAIL);
  t.deepEqual(wrong, { outcome: 'Retry', message: '535 wrong password ***' });
});

const withOpenssl = missing === undefined ? test : test.skip;

withOpenssl(
  'nothing is sent without TLS unless the operator says so, nor to a server that cannot prove its name',
  async (t) => {
    const plain = await openSmtpServer();
    t.teardown(plain.close);
    const login = { user: 'troupe', password: 'hunter2' };
    for (const given of [login, undefined]) {
      const engine = await openSmtp({ server: clear(plain.port, { tls: 'StartTls', login: given }), from: FROM });
      t.is((await engine.send(MAIL)).outcome, 'Retry');
    }
    t.is(plain.received.length, 0);

    const { ca, key, cert } = await certificates();
    const onAuth: NonNullable<Parameters<typeof openSmtpServer>[0]>['onAuth'] = ({ username }, _session, done) =>
      done(null, { user: username ?? '' });
    const starting = await openSmtpServer({ key, cert, onAuth, disabledCommands: [] });
    t.teardown(starting.close);
    const immediate = await openSmtpServer({ key, cert, onAuth, secure: true });
    t.teardown(immediate.close);
    const servers = [
      clear(starting.port, { tls: 'StartTls', login }),
      clear(immediate.port, { tls: 'Immediate', login }),
    ];
    for (const server of servers) t.is((await (await openSmtp({ server, from: FROM })).send(MAIL)).outcome, 'Retry');
    t.is(starting.received.length + immediate.received.length, 0);

    // As operators name an authority of their own.
    const dir = await mkdtemp(join(tmpdir(), 'troupe-smtp-'));
    t.teardown(() => rm(dir, { recursive: true }));
    const file = join(dir, 'ca.pem');
    await writeFile(file, ca);
    const module = new URL('../../../src/engines/mail/smtp.js', import.meta.url).href;
    const program = `const { openSmtp } = await import(${JSON.stringify(module)});
    for (const server of ${JSON.stringify(servers)})
      console.log((await (await openSmtp({ server, from: ${JSON.stringify(FROM)} })).send(${JSON.stringify(MAIL)})).outcome);`;
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: file };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env });
    t.is(stdout, 'Sent\nSent\n');
    for (const { received } of [starting, immediate]) t.like(received[0], { secure: true, user: 'troupe' });
  },
);

test('a server that says nothing is given up, and the mail is tried again', async (t) => {
  const server = await openSmtpServer({ onConnect: () => {} });
  t.teardown(server.close);
  const engine = await openSmtp({ server: clear(server.port), from: FROM, silentMs: 50 });
  t.is((await engine.send(MAIL)).outcome, 'Retry');
});

test('an address is one address', (t) => {
  for (const good of ['a@b', 'ada+x@example.org', "o'hara@mail.example.co"]) t.true(isMailAddress(good), good);
  const bad = [
    '',
    'ada',
    'a@b@c',
    'a b@c.d',
    'a@b.c\r\nBcc: x@y.z',
    '"a"@b.c',
    'a,b@c.d',
    '<a@b.c>',
    'a@[1.2.3.4]',
    'ä@b.c',
  ];
  for (const text of bad) t.false(isMailAddress(text), text);
});

test('a URL says where the server is and how it is secured, and a fault repeats nothing of it', (t) => {
  t.deepEqual(parseSmtpUrl('smtps://me%40x.org:p%2Fw@mail.example.org'), {
    ...{ host: 'mail.example.org', port: 465, tls: 'Immediate', login: { user: 'me@x.org', password: 'p/w' } },
  });
  t.like(parseSmtpUrl('smtp://mail.example.org'), { port: 587, tls: 'StartTls', login: undefined });
  t.like(parseSmtpUrl('smtp://[::1]:25/?tls=off'), { host: '::1', port: 25, tls: 'Off' });
  t.like(parseSmtpUrl('smtp://u:p@127.0.0.1:25?tls=off'), { tls: 'Off' });
  const faults = ['mail.example.org', 'http://x', 'smtp://', 'smtp://u:hunter2@mail.example.org?tls=off'];
  faults.push('smtps://x?tls=off', 'smtp://x?secure=no', 'smtp://hunter2@x', 'smtp://x/path', 'smtp://u:hunter2%@x');
  for (const text of faults) {
    const parsed = parseSmtpUrl(text);
    t.true('fault' in parsed, text);
    t.false(JSON.stringify(parsed).includes('hunter2'), text);
  }
});
