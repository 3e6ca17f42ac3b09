/** What kubectl sends for `create namespace`, and what anybody else may send in its place. */
import test from 'ava';
import * as fc from 'fast-check';
import { RefusalError } from '../../src/api/refusal.js';
import { parseProtobuf, PROTOBUF } from '../../http/resources/protobuf.js';
import { openTestApi } from './support/test-api.js';
import { at, json } from './support/json.js';

function field(number: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length % 128) + 128, Math.floor(bytes.length / 128)];
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes]);
}

function namespace(name: string, labels: Readonly<Record<string, string>> = {}): Buffer {
  const pairs = Object.entries(labels).map(([key, value]) =>
    field(11, Buffer.concat([field(1, key), field(2, value)])),
  );
  const meta = Buffer.concat([field(1, name), field(2, ''), Buffer.from([7 * 8, 0x80, 0x01]), ...pairs]);
  const raw = Buffer.concat([field(1, meta), field(2, ''), field(3, '')]);
  const type = Buffer.concat([field(1, 'v1'), field(2, 'Namespace')]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, raw), field(3, ''), field(4, '')]);
}

test('a namespace comes in as kubectl sends it, and only there', async (t) => {
  const api = await openTestApi(t);
  const send = (path: string): Promise<Response> =>
    api.call(path, {
      method: 'POST',
      headers: { 'content-type': PROTOBUF },
      body: namespace('shop', { team: 'x'.repeat(60) }),
    });
  const made = await send('/api/v1/namespaces?fieldManager=kubectl-create');
  t.is(made.status, 201);
  const body = await json(made);
  t.is(at(body, 'metadata.name'), 'shop');
  t.is(at(body, 'metadata.labels.team'), 'x'.repeat(60));
  t.is((await send('/apis/svc.dev/v1/namespaces/default/secrets')).status, 415);
});

test('bytes that are no such message are refused and do nothing else', (t) => {
  const refused = (bytes: Uint8Array): boolean => {
    try {
      parseProtobuf(Buffer.from(bytes));
      return true;
    } catch (error) {
      return error instanceof RefusalError && error.refusal.code === 'BadRequest';
    }
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => refused(Buffer.concat([Buffer.from('k8s\0'), noise]))),
  );
  const whole = namespace('shop', { a: 'b' });
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), (index, byte) => {
      const damaged = Buffer.from(whole);
      damaged[index] = byte;
      return refused(damaged) && refused(damaged.subarray(0, index));
    }),
  );
  t.throws(() => parseProtobuf(namespace('a', { ['__proto__']: 'x' })), { instanceOf: RefusalError });
});
