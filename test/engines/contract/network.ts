/**
 * The only way out of work is its proxy, and that lets through what the order's policy does. The engine under test allows 127.0.0.1, by
 * its operator's word, so that there is something to reach.
 */
import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { OrderedProcess } from '../../../src/engines/compute/contract/engine.js';
import type { ContractCase } from './case.js';
import { order } from '../compute-harness.js';

const OPEN = { egress: 'Open' } as const;

/** Asks the proxy for a tunnel and prints what comes back; what the first argument of `say` is goes through it. */
const TOOLS = `
ask() { exec 3<>/dev/tcp/127.0.0.1/3128 || { echo no proxy; return; }; printf 'CONNECT %s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' "$1" >&3; IFS= read -r answer <&3; echo "$1 \${answer%$'\\r'}"; }
`;

function bash(script: string, env: Record<string, string> = {}): OrderedProcess {
  return { name: 'main', command: ['bash', '-c', `${TOOLS}${script}`], env: { PATH: '/usr/bin:/bin', ...env } };
}

/** Says hello to whoever connects, then ends. */
async function greeter(): Promise<{ readonly server: Server; readonly at: string; readonly sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write('hello\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, at: `127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}

/** A reset is an end too; `once` would reject with it. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((done) => socket.once('close', () => done()));
}

/** Reads the answer's end and what the greeter says. */
const GREETED = `head -c 8 <&3 | tr -d '\\r\\n'; echo`;

export const networkCases: readonly ContractCase[] = [
  {
    name: 'work with a network reaches through its proxy what it may, from its first moment on, and its log says so',
    run: async (t, h) => {
      const { server, at } = await greeter();
      try {
        const script = `ask ${at}; ${GREETED}`;
        const quiet = bash('while :; do sleep 1; done');
        const works = [
          ...Array.from({ length: 4 }, () => order('', { main: bash(script), network: OPEN })),
          order('', { main: bash(script), network: OPEN, sidecars: [{ ...quiet, name: 'quiet' }] }),
        ];
        await Promise.all(works.map((work) => h.run(work)));
        for (const { id } of works) {
          t.is(await h.text(id), `${at} HTTP/1.1 200 Connection established\nhello\n`);
          t.regex(
            await h.text(id, 'network'),
            new RegExp(`^CONNECT ${at} allowed address=127.0.0.1 sent=0 received=6 `),
          );
        }
        const held = await h.running(order('', { main: undefined as never, network: OPEN }));
        const { stdout } = await h.ran(held.id, bash(script).command);
        t.is(stdout, `${at} HTTP/1.1 200 Connection established\nhello\n`);
        await h.engine.stop(held.id, 0, h.patience());
        await h.ended(held.id);
        t.regex(await h.text(held.id, 'network'), / allowed /);
      } finally {
        server.close();
      }
    },
  },
  {
    name: 'loopback, this machine, private networks and metadata are beyond the proxy of every work',
    run: async (t, h) => {
      const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
      const mine = own.find((address) => !address.includes(':') && address !== '127.0.0.1') ?? '127.0.0.3';
      const targets = [
        '127.0.0.2:80',
        `${mine}:5432`,
        '169.254.169.254:80',
        '10.0.0.1:443',
        '[::1]:80',
        'localhost6:80',
      ];
      const work = order('', { main: bash(targets.map((target) => `ask '${target}'`).join('\n')), network: OPEN });
      const said = (await h.output(work)).trim().split('\n');
      t.is(said.length, targets.length);
      for (const [index, line] of said.entries()) t.regex(line, / (403 Forbidden|502 Bad Gateway)$/, targets[index]);
      t.false((await h.text(work.id, 'network')).includes(' allowed '));
    },
  },
  {
    name: 'an AllowList lets nothing else through, and a policy of Deny has no proxy at all',
    run: async (t, h) => {
      const { server, at, sockets } = await greeter();
      try {
        const listed = order('', { main: bash(`ask ${at}`), network: { egress: 'AllowList', hosts: ['pypi.org'] } });
        t.is(await h.output(listed), `${at} HTTP/1.1 403 Forbidden\n`);
        for (const network of [{ egress: 'Deny' } as const, undefined]) {
          const denied = order('', { main: bash(`ask ${at} 2>/dev/null`), network });
          t.is(await h.output(denied), 'no proxy\n');
          t.deepEqual(await h.lines(denied.id, { container: 'network' }), []);
        }
        t.is(sockets.length, 0);
      } finally {
        server.close();
      }
    },
  },
  {
    name: 'beside the proxy there is no way out: no route, no other interface, nothing else on loopback',
    run: async (t, h) => {
      const { server, at } = await greeter();
      const [host, port] = at.split(':');
      const script = `
        tail -n +2 /proc/net/route | wc -l
        grep -c : /proc/net/dev
        for to in ${host}/${port} 192.0.2.1/80 1.1.1.1/53; do
          (exec 3<>/dev/tcp/$to) 2>/dev/null && echo reached $to
          (exec 3<>/dev/udp/$to && echo x >&3) 2>/dev/null && echo sent to $to
        done; true`;
      try {
        // A datagram to a port on loopback that nobody has is sent, to nowhere.
        const said = (await h.output(order('', { main: bash(script), network: OPEN }))).split('\n');
        t.deepEqual(said.filter((line) => line !== `sent to ${host}/${port}`).slice(0, 2), ['0', '1']);
        t.false(said.some((line) => line.startsWith('reached') || line.endsWith('/80') || line.endsWith('/53')));
      } finally {
        server.close();
      }
    },
  },
  {
    name: 'the end of the work ends its connections, and its log is whole by then',
    run: async (t, h) => {
      const { server, at, sockets } = await greeter();
      try {
        const work = order('', { main: bash(`ask ${at}; sleep 600`), network: OPEN });
        await h.start(work);
        await h.until('the connection', () => sockets[0]);
        const [socket] = sockets as [Socket];
        const closed = closeOf(socket.resume());
        await h.engine.stop(work.id, 0, h.patience());
        await h.ended(work.id);
        await closed;
        t.regex(await h.text(work.id, 'network'), new RegExp(`^CONNECT ${at} allowed [^\\n]*\\n$`));
      } finally {
        server.close();
      }
    },
  },
  {
    name: 'work that sends ahead without end holds one connection outside for each of its own, and no other work up',
    run: async (t, h) => {
      const { server, at, sockets } = await greeter();
      const silent: Socket[] = [];
      const target = createServer((socket) => silent.push(socket.on('error', () => undefined).resume()));
      target.listen(0, '127.0.0.1');
      await once(target, 'listening');
      const floods = `
        exec 3<>/dev/tcp/127.0.0.1/3128
        printf 'GET http://127.0.0.1:${(target.address() as AddressInfo).port}/ HTTP/1.1\r\nHost: x\r\n\r\n%.0s' {1..3000} >&3 &
        sleep 600`;
      try {
        const hostile = order('', { main: bash(floods), network: OPEN });
        await h.start(hostile);
        await h.until('the flood', () => silent[0]);
        t.is(
          await h.output(order('', { main: bash(`ask ${at}; ${GREETED}`), network: OPEN })),
          `${at} HTTP/1.1 200 Connection established\nhello\n`,
        );
        t.is(silent.length, 1);
        t.is(sockets.length, 1);
        const closed = closeOf(silent[0] as Socket);
        await h.engine.stop(hostile.id, 0, h.patience());
        await h.ended(hostile.id);
        await closed;
      } finally {
        server.close();
        target.close();
      }
    },
  },
  {
    name: 'work that floods the socket of its own API takes no connection of other work, and little of it goes on',
    run: async (t, h) => {
      const { apiDirectory } = h.engine;
      if (apiDirectory === undefined) return void t.pass();
      const asked: (string | undefined)[] = [];
      const works: unknown[] = [];
      const api = createHttpServer((req, res) => {
        asked.push(req.url);
        if (req.url === '/once') works.push(req.headers['x-svc-work']);
        res.end('taken');
      });
      const path = join(apiDirectory, 'api.sock');
      rmSync(path, { force: true });
      api.listen(path);
      await once(api, 'listening');
      chmodSync(path, 0o666);
      const perl = (script: string): OrderedProcess => ({
        name: 'main',
        command: [
          'perl',
          '-MIO::Socket::UNIX',
          '-e',
          `$SIG{PIPE} = 'IGNORE'; sub opened { IO::Socket::UNIX->new('/run/svc/api.sock') } ${script}`,
        ],
        env: { PATH: '/usr/bin:/bin' },
      });
      const floods = `my @all = map { opened() } 1 .. 40; $_->blocking(0) for @all; syswrite $_, "GET /flood HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" x 2000 for @all; $| = 1; print "sent\\n"; sleep 600`;
      const asks = `my $s = opened() or die "no socket: $!"; print $s "GET /once HTTP/1.1\\r\\nHost: x\\r\\nX-SVC-Work: other.1\\r\\nConnection: close\\r\\n\\r\\n"; local $/; my $all = <$s>; print defined $all ? ($all =~ m{\\n(taken)\\z} ? $1 : $all) : "nothing: $!"`;
      try {
        const hostile = order('', { main: perl(floods), apiDirectory });
        await h.start(hostile);
        await h.until('the flood', async () => (await h.text(hostile.id)) === 'sent\n' || undefined);
        const one = order('', { main: perl(asks), apiDirectory });
        t.like(await h.run(one), { exitCode: 0 });
        t.is(await h.text(one.id), 'taken');
        t.deepEqual(works, [one.id], 'the work whose socket it is, whatever it says itself');
        await h.engine.stop(hostile.id, 0, h.patience());
        await h.ended(hostile.id);
        t.true(asked.filter((url) => url === '/flood').length < 1_000, 'of 80,000');
      } finally {
        api.close();
        api.closeAllConnections();
      }
    },
  },
];
