import test from 'ava';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeAuthority } from '../../src/app/tls/make-certificates.js';
import { readWebhookCa } from '../../src/app/webhook-ca.js';

test('a file of authorities is read whole; one that cannot be used stops the start with its name', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-ca-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const write = async (text: string): Promise<string> => {
    const file = join(dir, 'ca.pem');
    await writeFile(file, text);
    return file;
  };
  const authorities = [await makeAuthority(new Date()), await makeAuthority(new Date())];
  const both = await readWebhookCa(await write(authorities.map(({ cert }) => cert).join('# two of them\n')));
  t.is(both?.length, 2);
  t.is(await readWebhookCa(undefined), undefined);
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  for (const text of ['', 'nonsense', broken]) {
    const file = await write(text);
    await t.throwsAsync(
      readWebhookCa(file),
      { name: 'WebhookCaFault', message: /^TROUPE_WEBHOOK_CA: .*ca\.pem / },
      text,
    );
  }
  await t.throwsAsync(readWebhookCa(join(dir, 'none')), { message: /none does not exist\. .* start it once without/ });
  await t.throwsAsync(readWebhookCa(dir), { message: /cannot be read/ });
});
