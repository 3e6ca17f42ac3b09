/** What a Secret says about who may pull images. */
import test from 'ava';
import { readLogins } from '../../actors/work/registry-logins.js';

test('a Secret of type Registry is read in both of its forms, and no complaint quotes it', (t) => {
  const read = (values: Readonly<Record<string, string>>, type = 'Registry') =>
    readLogins(type, new Map(Object.entries(values).map(([key, text]) => [key, Buffer.from(text)])));
  const plain = { username: 'me', password: 'hush' };
  t.deepEqual(read(plain), { outcome: 'Logins', logins: [{ registry: undefined, ...plain }] });
  const auth = Buffer.from('me:hu:sh').toString('base64');
  const file = JSON.stringify({
    auths: { 'ghcr.io': { auth, email: 'x' }, 'r:5000': plain, empty: {} },
    credsStore: 'y',
  });
  t.deepEqual(read({ '.dockerconfigjson': file }), {
    outcome: 'Logins',
    logins: [
      { registry: 'ghcr.io', username: 'me', password: 'hu:sh' },
      { registry: 'r:5000', ...plain },
    ],
  });
  for (const wrong of [
    read(plain, 'Opaque'),
    read({ username: 'me' }),
    read({ '.dockerconfigjson': '{"auths": hush' }),
    read({ '.dockerconfigjson': '{"auths": {"a": {"auth": 7}}}' }),
    read({ '.dockerconfigjson': '{"auths": {}}' }),
  ]) {
    t.is(wrong.outcome, 'Unusable');
    t.notRegex(JSON.stringify(wrong), /hush/);
  }
});
