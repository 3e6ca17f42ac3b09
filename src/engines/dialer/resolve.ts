/**
 * Looks names up where clients choose them: asks the name servers itself, without the system's resolver. That one
 * keeps a thread for each name until its servers have answered, and there are four threads for the whole process: a
 * handful of names whose servers stay silent would hold up every other look-up, and every file.
 *
 * What it knows: the name servers of `/etc/resolv.conf`, and `/etc/hosts`. Not: search domains, other name services.
 */
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';

/** Wait for one server's answer (ms), and how often all of them are asked. */
const ANSWER_MS = 2_000;
const TRIES = 2;
/** Both files are read again after this (ms): machines move between networks. */
const FRESH_MS = 30_000;

export interface ResolverOptions {
  /** `127.0.0.1:53`; the system's by default. */
  readonly servers?: readonly string[] | undefined;
  readonly hostsFile?: string | undefined;
}

/** All addresses of a name. Rejects when it has none or no server answers. */
export function openResolver(options: ResolverOptions = {}): (host: string) => Promise<readonly string[]> {
  let hosts: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  let resolver: Resolver | undefined;
  let since = Number.NEGATIVE_INFINITY;

  function refresh(): void {
    if (performance.now() - since < FRESH_MS) return;
    since = performance.now();
    resolver = new Resolver({ timeout: ANSWER_MS, tries: TRIES });
    if (options.servers) resolver.setServers(options.servers);
    hosts = readFile(options.hostsFile ?? '/etc/hosts', 'utf8').then(parseHosts, () => new Map());
  }

  return async (host) => {
    refresh();
    const asked = resolver;
    const written = (await hosts)?.get(host.toLowerCase());
    if (written !== undefined) return written;
    if (asked === undefined) throw new Error('no resolver');
    const [four, six] = await Promise.allSettled([asked.resolve4(host), asked.resolve6(host)]);
    if (four.status === 'rejected' && six.status === 'rejected') throw new Error(`${host} is not resolved`);
    return [four, six].flatMap((found) => (found.status === 'fulfilled' ? found.value : []));
  };
}

/** Address, names, `#` before what is only for people. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, readonly string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    for (const name of names) {
      const key = name.toLowerCase();
      hosts.set(key, [...(hosts.get(key) ?? []), address]);
    }
  }
  return hosts;
}
