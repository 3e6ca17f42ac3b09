import test from 'ava';
import { neverDialled } from '../../../src/engines/dialer/never-dialled.js';
import { allowAddresses } from '../../../src/engines/dialer/special-addresses.js';

const NONE = allowAddresses([]);

test('what is written as an address outside the public internet is never dialled, in whatever spelling', (t) => {
  for (const host of [
    ...['10.0.0.1', '127.0.0.1', '127.1', '2130706433', '0x7f000001', '017700000001', '0.0.0.0', '169.254.169.254'],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[fe80::1]', '[fd00::1]', '[64:ff9b::a00:1]'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', '127.0.0.1.', '\uff11\uff12\uff17.0.0.1'],
  ]) {
    t.not(neverDialled(`https://${host}:8443/hook`, NONE), undefined, host);
  }
});

test('names, public addresses, and what the operator allows may be dialled', (t) => {
  for (const url of ['https://example.com/', 'https://93.184.216.34/', 'https://localhost.example.com/', 'no url']) {
    t.is(neverDialled(url, NONE), undefined, url);
  }
  const allowed = allowAddresses(['10.1.0.0/16', '127.0.0.0/8']);
  t.is(neverDialled('https://10.1.2.3/', allowed), undefined);
  t.is(neverDialled('https://localhost/', allowed), undefined);
  t.not(neverDialled('https://10.2.0.1/', allowed), undefined);
});
