import test from 'ava';
import fc from 'fast-check';
import { forbids, matches, parseAuthority, targetOf } from '../../../src/engines/compute/shared/egress/policy.js';
import { withProxy } from '../../../src/engines/compute/shared/egress/environment.js';

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?$/);
/** Names that end in no number, or they would be addresses. */
const name = fc
  .tuple(fc.array(label, { minLength: 1, maxLength: 4 }), fc.constantFrom('org', 'example', 'internal'))
  .map(([labels, last]) => [...labels, last].join('.'));

test('a suffix pattern lets through what lies below it, however deep, and nothing else', (t) => {
  fc.assert(
    fc.property(name, name, label, (suffix, other, extra) => {
      t.true(matches(`*.${suffix}`, `${extra}.${suffix}`));
      t.true(matches(`*.${suffix}`, `${other}.${suffix}`));
      t.false(matches(`*.${suffix}`, suffix));
      t.is(matches(`*.${suffix}`, other), other.endsWith(`.${suffix}`));
    }),
  );
});

test('an exact entry lets through itself in every letter case, and nothing that only holds it', (t) => {
  fc.assert(
    fc.property(name, label, (host, extra) => {
      const network = { egress: 'AllowList', hosts: [host] } as const;
      const permits = (asked: string): boolean => {
        const target = targetOf(asked, 443);
        return target !== undefined && forbids(network, target) === undefined;
      };
      t.true(permits(host));
      t.true(permits(host.toUpperCase()));
      t.true(permits(`${host}.`));
      t.false(permits(`${extra}.${host}`));
      t.false(permits(`${host}.${extra}x`));
    }),
  );
});

const part = fc.oneof(
  fc.constantFrom('', '.', 'a.', '@', '%', '\0', ' ', '#', ':443', '\u3002'),
  fc.string({ maxLength: 3 }),
);
const near = fc
  .tuple(part, fc.constantFrom('pypi.org', 'a.example.org', 'example.org'), part)
  .map((parts) => parts.join(''));

test('whatever text is asked for, what is let through by an AllowList is on it', (t) => {
  const hosts = ['pypi.org', '*.example.org'];
  fc.assert(
    fc.property(near, (text) => {
      const target = parseAuthority(text, 443);
      if (target === undefined || forbids({ egress: 'AllowList', hosts }, target) !== undefined) return;
      t.true(target.host === 'pypi.org' || target.host.endsWith('.example.org'), text);
      t.false(target.isAddress);
    }),
  );
});

test('an IPv4 address is four plain decimals: what another reader could take for another address is no target', (t) => {
  t.deepEqual(targetOf('93.184.216.34', 80), { host: '93.184.216.34', port: 80, isAddress: true });
  for (const spelled of [
    ...['127.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.0.0.1.', '0000127.0.0.1', '00.0.0.0', '127.0.0.01'],
    ...['1.2.3.0x4', '1.2.3.4.5', '256.1.1.1', '1..2.3', 'a.0x', 'name.12', '127\u30020\u30020\u30021', '\uff11.2.3.4'],
  ]) {
    t.is(targetOf(spelled, 80), undefined, spelled);
    t.is(parseAuthority(`${spelled}:80`), undefined, spelled);
  }
  fc.assert(
    fc.property(fc.array(fc.constantFrom('0', '1', '127', '9', '0x', 'a', '.', '.'), { maxLength: 12 }), (parts) => {
      const text = parts.join('');
      const target = targetOf(text, 80);
      if (target?.isAddress === true) t.is(target.host, text);
    }),
  );
  t.deepEqual(parseAuthority('[::1]:80'), { host: '::1', port: 80, isAddress: true });
  t.deepEqual(parseAuthority('[::FFFF:127.0.0.1]:80')?.isAddress, true);
});

test('what names no host and port is no target', (t) => {
  for (const text of [
    '',
    ':80',
    'a',
    'a:0',
    'a:65536',
    'a:80:80',
    'u@a:80',
    'a b:80',
    '[fe80::1%eth0]:80',
    'a..b:80',
  ]) {
    t.is(parseAuthority(text), undefined, text);
  }
  t.is(targetOf('x'.repeat(300), 80), undefined);
});

test('Deny lets nothing through, and an AllowList no address', (t) => {
  const address = { host: '93.184.216.34', port: 443, isAddress: true };
  t.regex(forbids({ egress: 'Deny' }, address) ?? '', /Deny/);
  t.regex(forbids({ egress: 'AllowList', hosts: ['93.184.216.34'] }, address) ?? '', /names only/);
  t.is(forbids({ egress: 'Open' }, address), undefined);
});

test('programs are told of the proxy unless they were told otherwise, and under Deny of none', (t) => {
  const open = { egress: 'Open' } as const;
  t.deepEqual(withProxy({ A: '1' }, { egress: 'Deny' }), { A: '1' });
  t.deepEqual(withProxy({ A: '1' }, undefined), { A: '1' });
  const env = withProxy({ https_proxy: 'http://mine', NO_PROXY: '' }, open);
  t.is(env['HTTP_PROXY'], 'http://127.0.0.1:3128');
  t.is(env['http_proxy'], env['HTTP_PROXY']);
  t.is(env['https_proxy'], 'http://mine');
  t.is(env['HTTPS_PROXY'], undefined);
  t.is(env['no_proxy'], undefined);
});
