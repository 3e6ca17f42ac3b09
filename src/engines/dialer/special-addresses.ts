/**
 * Which addresses a stranger's URL must never reach: everything that is not plainly the public internet (the
 * special-purpose registries of IANA for IPv4 and IPv6, multicast, cloud metadata), and what an operator allows anyway.
 * Pure: names are resolved elsewhere.
 */
import { BlockList, isIP } from 'node:net';

/** One range and why nobody may dial it. The order is that of the answer when several match. */
const SPECIAL: readonly (readonly [cidr: string, what: string])[] = [
  ['0.0.0.0/8', 'this host'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier-grade NAT'],
  ['127.0.0.0/8', 'loopback'],
  ['168.63.129.16/32', 'cloud metadata'],
  ['169.254.169.254/32', 'cloud metadata'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.31.196.0/24', 'AS112'],
  ['192.52.193.0/24', 'AMT relays'],
  ['192.88.99.0/24', '6to4 relays'],
  ['192.168.0.0/16', 'private'],
  ['192.175.48.0/24', 'AS112'],
  ['198.18.0.0/15', 'benchmarks'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
  ['::/128', 'this host'],
  ['::1/128', 'loopback'],
  ['::ffff:0:0/96', 'IPv4 within IPv6'],
  ['::/96', 'IPv4 within IPv6'],
  ['64:ff9b::/96', 'IPv4 translated to IPv6'],
  ['64:ff9b:1::/48', 'IPv4 translated to IPv6'],
  ['2002::/16', '6to4'],
  ['2001::/23', 'protocol assignments'],
  ['2001:db8::/32', 'documentation'],
  ['2620:4f:8000::/48', 'AS112'],
  ['3fff::/20', 'documentation'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link-local'],
  ['ff00::/8', 'multicast'],
];

/** The part of IPv6 that is given out for the internet; the rest is special, named or not. */
const GLOBAL_V6 = rangeOf('2000::/3');

const ranges = SPECIAL.map(([cidr, what]) => ({ what, holds: rangeOf(cidr) }));

/** Why this address is not to be dialled (`loopback`, `private`, …); undefined for one on the public internet. */
export function specialAddress(address: string): string | undefined {
  const family = isIP(address);
  // A zone (`fe80::1%eth0`) names an interface of this machine.
  if (family === 0 || address.includes('%')) return 'no plain address';
  for (const range of ranges) if (range.holds(address)) return range.what;
  return family === 4 || GLOBAL_V6(address) ? undefined : 'reserved';
}

/** Addresses that may be dialled although they are special. */
export interface AllowedAddresses {
  has(address: string): boolean;
}

/** From addresses and ranges (`10.1.0.0/16`, `::1`), as an operator writes them. Throws with the entry that is neither. */
export function allowAddresses(entries: readonly string[]): AllowedAddresses {
  const allowed = entries.map(rangeOf);
  return { has: (address) => !address.includes('%') && allowed.some((holds) => holds(address)) };
}

/** Whether an address lies in the range. One of the other family never does, also where one is written within the other. */
function rangeOf(cidr: string): (address: string) => boolean {
  const [network = '', prefix, ...rest] = cidr.trim().split('/');
  const family = isIP(network);
  const bits = family === 4 ? 32 : 128;
  const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
  if (family === 0 || rest.length > 0 || length < 0 || length > bits || network.includes('%')) {
    throw new Error(`${JSON.stringify(cidr)} is neither an address nor a range such as 10.1.0.0/16`);
  }
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, length, type);
  return (address) => isIP(address) === family && list.check(address, type);
}
