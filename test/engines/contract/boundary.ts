/** What work can see and reach: its own things, the machine's system, and nothing else. */
import { createServer } from 'node:net';
import type { ContractCase } from '../compute-contract.js';
import { order } from '../compute-harness.js';

export const boundaryCases: readonly ContractCase[] = [
  {
    name: 'inside the user is root without any capability, mapped to one plain user outside',
    run: async (t, h, around) => {
      const script =
        'id -u; id -g; cat /proc/self/uid_map; grep -E "^(CapEff|CapPrm|NoNewPrivs)" /proc/self/status; unshare -U true && echo nested; mount -t tmpfs x /tmp && echo mounted; mknod /workspace/d b 8 0 && echo device; true';
      const map = async (): Promise<string> => {
        const text = await h.output(order(script));
        const [uid, gid, line, ...rest] = text.split('\n');
        t.deepEqual([uid, gid], ['0', '0']);
        const [inside, outside, count] = (line ?? '').trim().split(/\s+/);
        t.deepEqual([inside, count], ['0', '1']);
        t.not(outside, '0');
        t.true(rest.includes('CapEff:\t0000000000000000'), text);
        t.true(rest.includes('CapPrm:\t0000000000000000'), text);
        t.true(rest.includes('NoNewPrivs:\t1'), text);
        for (const word of ['nested', 'mounted', 'device']) t.false(rest.includes(word), word);
        return outside ?? '';
      };
      await map();
      if (!around.ownUsers) return;
      const host = async (): Promise<string> => h.output(order('cat /proc/self/uid_map; sleep 0.3'));
      const users = await Promise.all(Array.from({ length: 4 }, host));
      t.is(new Set(users).size, users.length);
    },
  },
  {
    name: 'nothing of the host but its system can be seen',
    run: async (t, h, around) => {
      const paths = [
        '/etc/shadow',
        '/etc/gshadow',
        '/etc/ssh',
        '/etc/sudoers',
        '/etc/ssl/private',
        '/etc/machine-id',
        '/home',
        '/srv',
        '/opt',
        '/mnt',
        '/media',
        '/boot',
        '/sys',
        '/var/lib',
        '/var/log',
        '/var/run/docker.sock',
        '/run/troupe',
        ...around.hidden,
      ];
      const text = await h.output(
        order(['sh', '-c', 'for p; do [ -e "$p" ] && echo "$p"; done; ls -A /root /workspace /tmp', 'sh', ...paths]),
      );
      t.is(text, '/root:\n\n/tmp:\n\n/workspace:\n');
    },
  },
  {
    name: 'the system is read-only, and the work has its own places to write',
    run: async (t, h) => {
      const script =
        'for p in / /usr /etc /bin /dev /proc /proc/sys /run /var /svc /svc/inputs /run/secrets; do (: >"$p/new") 2>/dev/null && echo "$p"; done; for p in /workspace /tmp /dev/shm /root /svc/outputs /svc/state; do (: >"$p/new") || echo "$p closed"; done';
      t.is(await h.output(order(script)), '');
    },
  },
  {
    name: 'the programs of the machine work: TLS roots, names, time zones, devices, terminals',
    run: async (t, h) => {
      const script =
        'ls -d /etc/passwd /etc/hosts /dev/null /dev/urandom /dev/pts /proc/self/fd /dev/fd/0 >/dev/null && id -un && head -c 4 /dev/urandom | wc -c && hostname && getent hosts localhost | wc -l';
      t.is(await h.output(order(script)), 'root\n4\nwork\n1\n');
    },
  },
  {
    name: 'there is no network but an own loopback',
    run: async (t, h) => {
      const server = createServer((socket) => socket.end('host'));
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const script = `cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '
        bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}' 2>/dev/null && echo reached-host
        bash -c 'exec 3<>/dev/udp/192.0.2.1/53' 2>/dev/null && echo reached-net
        bash -c 'exec 3<>/dev/udp/127.0.0.1/9' 2>/dev/null && echo loopback; true`;
      const text = await h.output(order(script));
      server.close();
      t.is(text, 'lo\nloopback\n');
    },
  },
  {
    name: 'two pieces of work see nothing of each other',
    run: async (t, h) => {
      const hider = order(
        'echo treasure >/workspace/treasure; echo treasure >/tmp/treasure; echo treasure >/dev/shm/treasure; mkfifo /workspace/p; echo ready; sleep 600 treasure',
      );
      await h.start({
        ...hider,
        main: { ...hider.main, env: { ...hider.main.env, TREASURE: 'treasure' } },
        secretFiles: new Map([['treasure', Buffer.from('treasure')]]),
      });
      await h.state(hider.id, ({ phase }) => phase === 'Running');
      const script =
        'ls -A /workspace /tmp /dev/shm /run/secrets /svc/outputs /svc/state | grep treasure; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | grep treasur[e]; ls -d /proc/[0-9]* | wc -l; cat /proc/net/unix | tail -n +2; kill -9 -1 2>/dev/null; true';
      const text = await h.output(order(script));
      t.regex(text, /^\d\n$/);
      t.is(h.reports(hider.id).at(-1)?.phase, 'Running');
      await h.engine.remove(hider.id, true, h.patience());
    },
  },
  {
    name: 'no descriptor of the service or the runner is open inside',
    run: async (t, h) => {
      t.is(
        await h.output(order('for n in $(ls /proc/$$/fd); do [ "$n" -gt 2 ] && readlink /proc/$$/fd/$n; done; true')),
        '',
      );
      t.is(await h.output(order('exec ls /proc/self/fd')), '0\n1\n2\n3\n');
    },
  },
  {
    name: 'output can be opened again by /dev/stdout and /dev/stderr',
    run: async (t, h) => {
      const work = order('echo out >/dev/stdout; echo err >/dev/stderr');
      t.is((await h.run(work)).exitCode, 0);
      t.deepEqual(
        (await h.lines(work.id)).map(({ stream, data }) => `${stream} ${Buffer.from(data).toString()}`).toSorted(),
        ['stderr err\n', 'stdout out\n'],
      );
    },
  },
  {
    name: 'secret files are on memory, 0400, and belong to the user inside',
    run: async (t, h) => {
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
      const big = Buffer.alloc(200_000, 'k');
      const work = order(
        'cd /run/secrets; stat -c "%a %u %g %n" *; stat -f -c %T .; sha256sum all.bin big | cut -c1-8; (: >x) 2>/dev/null || echo read-only',
        {
          secretFiles: new Map([
            ['all.bin', bytes],
            ['big', big],
            ['empty', Buffer.alloc(0)],
          ]),
        },
      );
      const { createHash } = await import('node:crypto');
      const hash = (data: Buffer): string => createHash('sha256').update(data).digest('hex').slice(0, 8);
      t.is(
        await h.output(work),
        `400 0 0 all.bin\n400 0 0 big\n400 0 0 empty\ntmpfs\n${hash(bytes)}\n${hash(big)}\nread-only\n`,
      );
    },
  },
];
