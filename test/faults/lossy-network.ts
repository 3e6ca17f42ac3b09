/**
 * A network of its own, for a server that a test loses packets to. The server's namespace hangs on a router, which is a
 * namespace as well, and the router on this machine:
 *
 *     this machine ── veth ── router ── veth ── the server's namespace
 *
 * The router drops what it should forward, so neither end is told: no reset, no ICMP, no error at the sender. It asks for
 * root, iproute2 and iptables.
 *
 * Each namespace is held by a process that ends with this one, and a veth pair goes with the namespace of either end: nothing
 * is left behind, however the test ends. Addresses are of 198.18.0.0/15, which is for tests (RFC 2544).
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { until } from '../e2e/until.js';

/** Of two addresses of the server: one path each, so that only one of two clients loses packets. */
export type Path = 0 | 1;

export interface LossyNetwork {
  readonly addresses: readonly [string, string];
  /** Begins a command line that runs in the server's namespace. */
  readonly enter: readonly string[];
  /**
   * From now on this share of the packets of these paths is dropped, of the others none. `answers`: only those from the
   * server, so that it carries out what is under way.
   */
  lose(share: number, paths: readonly Path[], which?: 'all' | 'answers'): void;
  close(): Promise<void>;
}

/** Sixteen addresses for each process that runs such a test, by its number. */
const BLOCK = (process.pid % 8_192) * 16;
const address = (host: number): string => `198.${18 + (BLOCK >> 16)}.${(BLOCK >> 8) & 255}.${(BLOCK & 255) + host}`;
/** On this machine. A name of an interface has 15 letters at most. */
const NEAR = `troupe${process.pid}`;
const DROP_SOME = '-m statistic --mode random --probability';

const run = (line: string): unknown => execFileSync('sh', ['-ec', line], { stdio: ['ignore', 'ignore', 'pipe'] });

/** Why there can be no such network here; undefined when there can. */
export function missingForNetwork(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  const tried = spawnSync('sh', [
    '-ec',
    `ip link add ${NEAR} type veth peer name ${NEAR}b; ip link del ${NEAR}
     unshare --net sh -ec 'echo 1 > /proc/sys/net/ipv4/ip_forward; iptables -A FORWARD ${DROP_SOME} 0.5 -j DROP'`,
  ]);
  return tried.status === 0 ? undefined : 'network namespaces, ip or iptables do not work here';
}

export async function openLossyNetwork(): Promise<LossyNetwork> {
  const router = await openNamespace();
  const far = await openNamespace();
  const addresses = [address(10), address(11)] as const;
  const close = async (): Promise<void> => {
    spawnSync('ip', ['link', 'del', NEAR]);
    await Promise.all([router.close(), far.close()]);
  };
  try {
    run(`ip link add ${NEAR} type veth peer name near netns ${router.pid}
         ip addr add ${address(1)}/30 dev ${NEAR}
         ip link set ${NEAR} up`);
    router.run(`ip addr add ${address(2)}/30 dev near
                ip link set near up
                ip link add far type veth peer name eth0 netns ${far.pid}
                ip addr add ${address(9)}/29 dev far
                ip link set far up
                echo 1 > /proc/sys/net/ipv4/ip_forward`);
    far.run(`ip link set lo up
             ip link set eth0 up
             ${addresses.map((each) => `ip addr add ${each}/29 dev eth0`).join('; ')}
             ip route add default via ${address(9)}`);
    run(`ip route add ${address(8)}/29 via ${address(2)}`);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    addresses,
    enter: far.enter,
    lose(share, paths, which = 'all') {
      const match = share < 1 ? `${DROP_SOME} ${share}` : '';
      const ends = which === 'all' ? ['-s', '-d'] : ['-s'];
      const rules = paths.flatMap((path) => ends.map((end) => `${end} ${addresses[path]} ${match} -j DROP`));
      router.run(['iptables -F FORWARD', ...rules.map((rule) => `iptables -A FORWARD ${rule}`)].join('; '));
    },
    close,
  };
}

interface Namespace {
  readonly pid: number;
  readonly enter: readonly string[];
  run(script: string): void;
  close(): Promise<void>;
}

/** Held by a `cat` that reads from this process: it ends with it. */
async function openNamespace(): Promise<Namespace> {
  const holder: ChildProcess = spawn('unshare', ['--net', 'cat'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const pid = holder.pid ?? 0;
  const ended = once(holder, 'exit');
  const enter = ['nsenter', `--target=${pid}`, '--net', '--'];
  const ours = readlinkSync('/proc/self/ns/net');
  await until('the namespace is there', () => readlinkSync(`/proc/${pid}/ns/net`) !== ours);
  return {
    pid,
    enter,
    run: (script) =>
      void execFileSync(enter[0] ?? '', [...enter.slice(1), 'sh', '-ec', script], {
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    async close() {
      holder.stdin?.end();
      await ended;
    },
  };
}
