/**
 * What a policy lets through, and the one form in which hosts are compared. Pure. Source: spec, "Conventions" 11.
 *
 * `*.example.org` stands for every name below example.org, however deep, and not for example.org itself. An AllowList speaks of
 * names only: an address is never on it, since nobody can tell whose it is. A policy says nothing about ports.
 */
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import type { WorkNetwork } from '../../contract/engine.js';

/** Where a connection is asked to. `host` in the form in which it is compared: a lower-case name, or an address without brackets. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly isAddress: boolean;
}

const LABEL = /^[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?$/;
const MAX_NAME = 253;

/**
 * Undefined: no host that could be reached. An IPv4 address is four plain decimals and nothing else: of its old spellings (`127.1`,
 * `0x7f000001`, `0127.0.0.1`) readers make different addresses, so a check of one reading says nothing about another.
 */
export function targetOf(host: string, port: number): Target | undefined {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (isIP(bare) !== 0) return bare.includes('%') ? undefined : { host: bare.toLowerCase(), port, isAddress: true };
  if (host.length > MAX_NAME + 1) return undefined;
  // What a URL would make of it: other scripts, letter case, and numbers that some reader takes for an address.
  const name = domainToASCII(host.replace(/\.$/, ''));
  if (isIP(name) !== 0 || /^(?:\d+|0x[0-9a-f]*)$/.test(name.slice(name.lastIndexOf('.') + 1))) return undefined;
  if (name === '' || name.length > MAX_NAME || !name.split('.').every((label) => LABEL.test(label))) return undefined;
  return { host: name, port, isAddress: false };
}

/** `example.org:443` and `[2001:db8::1]:443`, as CONNECT has it; with `defaultPort` the port may be missing. */
export function parseAuthority(authority: string, defaultPort?: number): Target | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[^:@/?#[\]\s]+)(?::(\d{1,5}))?$/i.exec(authority);
  const port = found?.[2] === undefined ? defaultPort : Number(found[2]);
  return found?.[1] === undefined || port === undefined ? undefined : targetOf(found[1], port);
}

/** As one would write it, for people. */
export function authorityOf({ host, port }: Pick<Target, 'host' | 'port'>): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Undefined: it may be tried. Else why not, for people. */
export function forbids(network: WorkNetwork, target: Target): string | undefined {
  switch (network.egress) {
    case 'Open':
      return undefined;
    case 'AllowList':
      if (target.isAddress) return `the network policy AllowList allows names only, and ${target.host} is an address`;
      if (network.hosts.some((pattern) => matches(pattern, target.host))) return undefined;
      return `the network policy AllowList does not allow ${target.host}`;
    default:
      return 'the network policy Deny allows no connections';
  }
}

/** Whether a name falls under an entry of an AllowList. */
export function matches(pattern: string, name: string): boolean {
  const wanted = pattern.toLowerCase();
  if (!wanted.startsWith('*.')) return name === wanted;
  const suffix = wanted.slice(1);
  return name.length > suffix.length && name.endsWith(suffix);
}
