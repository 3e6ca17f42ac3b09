import { readFile } from 'node:fs/promises';
import test from 'ava';
import { loadConfig } from '../../src/config.js';
import { SETTINGS } from '../../src/settings.js';
import { settingsTable, settingsText } from '../../src/app/settings-help.js';
import type { Config } from '../../src/config.js';

const accepted = (env: Record<string, string>): Config => {
  const loaded = loadConfig(env);
  if (loaded.outcome === 'Invalid') throw new Error(loaded.lines.join('\n'));
  return loaded.config;
};

/** The lines of the refusal. */
const refused = (env: Record<string, string>): string[] => {
  const loaded = loadConfig(env);
  return loaded.outcome === 'Invalid' ? loaded.lines : [];
};

test('an empty environment gives a complete configuration, so that npm start needs no settings', (t) => {
  const config = accepted({});
  t.like(config, {
    port: 8080,
    host: '127.0.0.1',
    tlsPort: 8443,
    sshPort: 2222,
    compute: 'auto',
    databaseUrl: undefined,
  });
  t.true(config.dataDir.endsWith('/.data'));
  t.is(config.blobDir, `${config.dataDir}/blobs`);
  t.is(config.watchHistoryBytes, 4 * 2 ** 30);
});

test('every fault of the environment gets one line that names the setting, and the start stops', (t) => {
  const lines = refused({
    PORT: '80800',
    TROUPE_COMPUTE: 'kubernetes',
    TROUPE_LEASE_SECOND: '3',
    TROUPE_WATCH_HISTORY_BYTES: '4 GB',
    TROUPE_TLS_CERT: '/etc/cert.pem',
  });
  t.deepEqual(
    lines.map((line) => line.split(':')[0]),
    [
      'TROUPE_LEASE_SECOND',
      'PORT',
      'TROUPE_COMPUTE',
      'TROUPE_WATCH_HISTORY_BYTES',
      'TROUPE_TLS_CERT and TROUPE_TLS_KEY',
    ],
  );
  t.regex(lines.join('\n'), /did you mean TROUPE_LEASE_SECONDS\?/);
  t.regex(lines.join('\n'), /kubernetes is not built yet/);
  t.regex(refused({ TROUPE_PAYMENTS: 'cash' }).join(), /^TROUPE_PAYMENTS: .*auto.*off/);
  t.regex(refused({ TROUPE_WALLET: 'Free' }).join(), /^TROUPE_WALLET: .*Unlimited.*Prepaid/);
  t.is(accepted({ TROUPE_WALLET: 'Prepaid' }).wallet, 'Prepaid');
  t.is(accepted({}).wallet, 'Unlimited');
  const key = 'sk_test_0123456789abcdef';
  t.is(accepted({ STRIPE_SECRET_KEY: key }).wallet, 'Prepaid', 'real money is paid in advance');
  t.is(accepted({ STRIPE_SECRET_KEY: key, TROUPE_PAYMENTS: 'off' }).wallet, 'Unlimited');
  t.is(accepted({ STRIPE_SECRET_KEY: key, TROUPE_WALLET: 'Unlimited' }).wallet, 'Unlimited');
  t.notRegex(refused({ STRIPE_SECRET_KEY: 'pk_live_0123456789abcdef' }).join(), /0123/, 'a key is never repeated');
  t.regex(refused({ TROUPE_STRIPE_URL: 'http://stripe.example.com' }).join(), /must be https/);
  t.is(accepted({ TROUPE_STRIPE_URL: 'http://127.0.0.1:4010' }).stripeUrl, 'http://127.0.0.1:4010');
  t.regex(refused({ TROUPE_BOOTSTRAP_CREDITS: '-1' }).join(), /must be an amount in USD such as 100.00/);
});

test('the public URL is an origin, and nothing else is taken for one', (t) => {
  t.is(accepted({ TROUPE_PUBLIC_URL: 'https://Troupe.example.com:443/' }).publicUrl, 'https://troupe.example.com');
  t.is(accepted({ TROUPE_PUBLIC_URL: 'http://[::1]:8080' }).publicUrl, 'http://[::1]:8080');
  for (const wrong of [
    'troupe.example.com',
    'ftp://a.b',
    'https://a.b/path',
    'https://me:word@a.b',
    'https://a.b/?q',
    'https://',
  ]) {
    t.regex(refused({ TROUPE_PUBLIC_URL: wrong }).join(), /^TROUPE_PUBLIC_URL: must be a URL/, wrong);
  }
});

test('a mail server needs a sender, and a fault of its URL repeats nothing of it', (t) => {
  const url = 'smtps://troupe:hunter2@mail.example.com';
  const both = accepted({ TROUPE_SMTP_URL: url, TROUPE_SMTP_FROM: 'budgets@example.com' });
  t.like(both, { smtpFrom: 'budgets@example.com', smtpUrl: { host: 'mail.example.com', port: 465, tls: 'Immediate' } });
  t.regex(refused({ TROUPE_SMTP_URL: url }).join(), /set both or neither/);
  t.regex(
    refused({ TROUPE_SMTP_FROM: 'a, b@c.de', TROUPE_SMTP_URL: url }).join(),
    /^TROUPE_SMTP_FROM: must be an address/,
  );
  const lines = refused({ TROUPE_SMTP_URL: `${url}?tls=off`, TROUPE_SMTP_FROM: 'budgets@example.com' });
  t.regex(lines.join(), /^TROUPE_SMTP_URL: must be smtp/);
  t.notRegex(lines.join(), /hunter2/);
});

test('a bad secret is refused without being repeated', (t) => {
  const lines = refused({ TROUPE_MASTER_KEY: 'hunter2', DATABASE_URL: 'mysql://root:hunter2@db/x' });
  t.is(lines.length, 2);
  t.notRegex(lines.join('\n'), /hunter2/);
});

test('a master key is rotated by a list: the first seals, the others open', (t) => {
  const keys = [1, 2].map((fill) => Buffer.alloc(32, fill));
  const text = keys.map((key) => key.toString('base64'));
  t.deepEqual(accepted({ TROUPE_MASTER_KEY: text[0] ?? '' }).masterKeys, keys.slice(0, 1));
  t.deepEqual(accepted({ TROUPE_MASTER_KEY: text.join(', ') }).masterKeys, keys);
  t.is(refused({ TROUPE_MASTER_KEY: `${text[0]},` }).length, 1);
  t.is(refused({ TROUPE_MASTER_KEY: Array.from({ length: 9 }, () => text[0]).join() }).length, 1);
});

test('a setting that is set to nothing counts as unset, as compose files write it', (t) => {
  t.is(loadConfig({ REDIS_URL: '', PORT: '' }).outcome, 'Config');
});

test('a TLS port of 0 turns TLS off, and any takes a free one', (t) => {
  t.is(accepted({ TROUPE_TLS_PORT: '0' }).tlsPort, 'off');
  t.is(accepted({ TROUPE_TLS_PORT: 'any' }).tlsPort, 0);
  t.is(accepted({ TROUPE_SSH_PORT: '0' }).sshPort, 'off');
  t.is(accepted({ TROUPE_TLS_PORT: '443' }).tlsPort, 443);
  t.regex(refused({ TROUPE_TLS_PORT: '70000' }).join(), /must be a port/);
});

test('every setting tells its unit and its consequence, and each default is accepted', (t) => {
  const names = Object.values(SETTINGS).map(({ env }) => env);
  t.is(new Set(names).size, names.length);
  for (const { env, unit, about, default: fallback } of Object.values(SETTINGS)) {
    t.true(unit.length > 0 && about.endsWith('.'), env);
    t.is(loadConfig({ [env]: fallback }).outcome, 'Config', env);
  }
  t.true(settingsText().includes('TROUPE_LEASE_SECONDS (seconds; 5)'));
});

test('the table of settings in ops/README.md is the one in the program', async (t) => {
  const readme = await readFile(new URL('../../../ops/README.md', import.meta.url), 'utf8');
  t.true(readme.includes(settingsTable()), 'run: node ops/settings-table.mjs');
});
