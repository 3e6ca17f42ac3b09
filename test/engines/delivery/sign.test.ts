import test from 'ava';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { sign } from '../../../src/engines/delivery/sign.js';
import { makeSecret } from '../../../src/kinds/webhookendpoint/secret.js';
import { tries } from '../../support/extent.js';

const secretOf = (seed: number) => makeSecret((length) => Uint8Array.from({ length }, (_, i) => (seed * 31 + i) % 256));

test('what is signed is verified by the package that receivers use, under each secret in force and no other', (t) => {
  fc.assert(
    fc.property(fc.json(), fc.uuid(), fc.nat(200), (body, id, seed) => {
      const [fresh, old, other] = [secretOf(seed), secretOf(seed + 1), secretOf(seed + 2)];
      const headers = { ...sign(id, Date.now(), body, [fresh.bytes, old.bytes]) };
      t.deepEqual(new Webhook(fresh.text).verify(body, headers), JSON.parse(body));
      t.notThrows(() => new Webhook(old.text).verify(body, headers));
      t.throws(() => new Webhook(other.text).verify(body, headers));
      t.throws(() => new Webhook(fresh.text).verify(`${body} `, headers));
      t.throws(() => new Webhook(fresh.text).verify(body, { ...headers, 'webhook-id': `${id}x` }));
    }),
    { numRuns: tries(50) },
  );
});

test('a delivery that was signed more than five minutes ago is refused by receivers, so each attempt signs anew', (t) => {
  const { text, bytes } = secretOf(1);
  const headers = { ...sign('msg_1', Date.now() - 301_000, '{}', [bytes]) };
  t.throws(() => new Webhook(text).verify('{}', headers));
});

test('the signature is that of the specification', (t) => {
  // Of the Standard Webhooks reference.
  const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
  const headers = sign('msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330_000, '{"test": 2432232314}', [key]);
  t.is(headers['webhook-timestamp'], '1614265330');
  t.is(headers['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});
