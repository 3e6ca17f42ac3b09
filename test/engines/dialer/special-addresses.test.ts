import test from 'ava';
import * as fc from 'fast-check';
import { allowAddresses, specialAddress } from '../../../src/engines/dialer/special-addresses.js';
import { tries } from '../../support/extent.js';

const REFUSED: readonly (readonly [address: string, what: string])[] = [
  ['0.0.0.0', 'this host'],
  ['10.0.0.1', 'private'],
  ['10.255.255.255', 'private'],
  ['100.64.0.1', 'carrier-grade NAT'],
  ['100.100.100.200', 'carrier-grade NAT'],
  ['100.127.255.255', 'carrier-grade NAT'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['168.63.129.16', 'cloud metadata'],
  ['169.254.169.254', 'cloud metadata'],
  ['169.254.0.1', 'link-local'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.192', 'protocol assignments'],
  ['192.0.2.1', 'documentation'],
  ['192.88.99.1', '6to4 relays'],
  ['192.168.1.1', 'private'],
  ['198.18.0.1', 'benchmarks'],
  ['198.19.255.255', 'benchmarks'],
  ['198.51.100.1', 'documentation'],
  ['203.0.113.1', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'reserved'],
  ['::', 'this host'],
  ['::1', 'loopback'],
  ['0:0:0:0:0:0:0:1', 'loopback'],
  ['::ffff:127.0.0.1', 'IPv4 within IPv6'],
  ['::ffff:7f00:1', 'IPv4 within IPv6'],
  ['::ffff:8.8.8.8', 'IPv4 within IPv6'],
  ['::7f00:1', 'IPv4 within IPv6'],
  ['64:ff9b::7f00:1', 'IPv4 translated to IPv6'],
  ['64:ff9b:1::a00:1', 'IPv4 translated to IPv6'],
  ['2001::1', 'protocol assignments'],
  ['2001:db8::1', 'documentation'],
  ['2002:7f00:1::', '6to4'],
  ['3fff::1', 'documentation'],
  ['100::1', 'reserved'],
  ['5f00::1', 'reserved'],
  ['4000::1', 'reserved'],
  ['fc00::1', 'private'],
  ['fd00:ec2::254', 'private'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'no plain address'],
  ['febf::1', 'link-local'],
  ['fec0::1', 'reserved'],
  ['ff02::1', 'multicast'],
  ['example.com', 'no plain address'],
  ['127.1', 'no plain address'],
  ['0x7f000001', 'no plain address'],
  ['2130706433', 'no plain address'],
  ['', 'no plain address'],
];

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.17',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.1',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2001:4860:4860::8888',
  '2606:4700:4700::1111',
  '2a00:1450:4001::1',
];

test('addresses that are not of the public internet are refused, each with its reason', (t) => {
  for (const [address, what] of REFUSED) t.is(specialAddress(address), what, address);
});

test('addresses of the public internet, also beside a special range, are not', (t) => {
  for (const address of PUBLIC) t.is(specialAddress(address), undefined, address);
});

test('whatever way an IPv4 address is written within IPv6, it is refused', (t) => {
  fc.assert(
    fc.property(fc.ipV4(), (v4) => {
      const [a = 0, b = 0, c = 0, d = 0] = v4.split('.').map(Number);
      const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
      for (const prefix of ['::ffff:', '::', '64:ff9b::']) {
        t.truthy(specialAddress(`${prefix}${v4}`));
        t.truthy(specialAddress(`${prefix}${hex}`));
      }
      t.truthy(specialAddress(`2002:${hex}::1`));
    }),
    { numRuns: tries(200) },
  );
});

test('an allowed range holds what is in it and nothing else', (t) => {
  const allowed = allowAddresses(['10.1.0.0/16', '::1', ' 127.0.0.1 ']);
  t.deepEqual(
    ['10.1.255.255', '10.2.0.0', '::1', '::2', '127.0.0.1', '127.0.0.2', '::1%lo', 'x'].map((a) => allowed.has(a)),
    [true, false, true, false, true, false, false, false],
  );
});

test('an entry that is no range stops with its own text', (t) => {
  for (const entry of [
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    'localhost',
    '::/129',
    '1.2.3.4/8/9',
    '',
    'fe80::1%e/64',
  ]) {
    t.throws(() => allowAddresses([entry]), { message: /neither an address nor a range/ }, entry);
  }
});
