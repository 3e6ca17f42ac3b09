/** What work can see and reach: its own things, the machine's system, and nothing else. */
import { createHash, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { ContractCase } from './case.js';
import { order, type Harness } from '../compute-harness.js';

/** What a script prints to stdout. */
async function out(h: Harness, script: string): Promise<string> {
  const work = order(script);
  await h.run(work);
  const lines = await h.lines(work.id);
  return Buffer.concat(lines.filter(({ stream }) => stream === 'stdout').map(({ data }) => data)).toString('utf8');
}

export const boundaryCases: readonly ContractCase[] = [
  {
    name: 'inside the user is root without any capability, and nested namespaces, mounts and devices are refused',
    run: async (t, h) => {
      const script = `id -u; id -g; grep -E "^(CapEff|CapPrm|CapAmb|NoNewPrivs)" /proc/self/status; unshare -U true && echo nested
        mount -t tmpfs x /tmp && echo mounted; mknod /workspace/d b 8 0 && echo device; chroot / true && echo chroot; true`;
      const zero = '0000000000000000';
      t.is(await out(h, script), `0\n0\nCapPrm:\t${zero}\nCapEff:\t${zero}\nCapAmb:\t${zero}\nNoNewPrivs:\t1\n`);
    },
  },
  {
    name: 'outside the user is a plain one, of each live work its own where the engine can',
    run: async (t, h, around) => {
      const works = Array.from({ length: 3 }, () => order(['sleep', `600.${randomInt(1e9)}`]));
      const users: (number | undefined)[] = [];
      for (const work of works) {
        await h.start(work);
        // What starts it may have its arguments for a moment.
        const user = (): number | undefined => around.userOf(work.main.command[1] ?? '') || undefined;
        users.push(await h.until('its process, which is not root', user));
      }
      t.false(users.includes(0));
      t.false(around.ownUsers && users.includes(process.getuid?.()));
      t.is(new Set(users).size, around.ownUsers ? 3 : 1);
      await Promise.all(works.map(({ id }) => h.engine.remove(id, true, h.patience())));
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
      ].filter((path) => around.shown?.includes(path) !== true);
      const text = await h.output(
        order(['sh', '-c', 'for p; do [ -e "$p" ] && echo "$p"; done; ls -A /root /workspace /tmp', 'sh', ...paths]),
      );
      t.is(text, '/root:\n\n/tmp:\n\n/workspace:\n');
    },
  },
  {
    name: 'the system is read-only, and the work has its own places to write',
    ownSystem: true,
    run: async (t, h) => {
      const script =
        'for p in /usr /etc /bin /lib /dev /proc /proc/sys /run/secrets; do (: >"$p/new") 2>/dev/null && echo "$p"; done; for p in / /workspace /tmp /dev/shm /root /run /var /svc /svc/outputs /svc/state; do (: >"$p/new") || echo "$p closed"; done';
      t.is(await h.output(order(script)), '');
    },
  },
  {
    name: 'what work writes to its root is its own, and the next work finds none of it',
    run: async (t, h) => {
      const script =
        'mkdir -p /data /svc/mine /var/lib/x /opt; echo treasure >/data/f; echo treasure >/svc/mine/f; echo treasure >/treasure; ln -sfn /etc /var/tmp; cat /data/f; ls -d /etc/passwd';
      const look = 'ls -d /data /svc/mine /var/lib /opt /treasure 2>/dev/null; readlink /var/tmp; ls -A /run /svc /var';
      const clean = '../tmp\n/run:\nsecrets\n\n/svc:\ninputs\noutputs\nstate\n\n/var:\nrun\ntmp\n';
      // Again and again, so that also roots are used that were kept from work which did not touch them.
      for (let round = 0; round < 2; round++) {
        const spoiled = Array.from({ length: 3 }, () => h.output(order(script)));
        t.deepEqual(new Set(await Promise.all(spoiled)), new Set(['treasure\n/etc/passwd\n']));
        const looked = Array.from({ length: 6 }, () => h.output(order(look)));
        t.deepEqual(new Set(await Promise.all(looked)), new Set([clean]));
      }
    },
  },
  {
    name: 'nothing of the system can be taken away from under who comes next into the box',
    ownSystem: true,
    run: async (t, h) => {
      // Whoever enters after it is started by the programs of the box, and has more rights until these have given them up.
      const spoil = `for p in /bin /sbin /lib /lib64 /usr /etc /proc /dev /run/secrets /tmp; do
          [ -e "$p" ] || continue
          mv "$p" /taken 2>/dev/null && echo "moved $p"; rm -rf "$p" 2>/dev/null
          ln -sfn /workspace "$p" 2>/dev/null; [ "$(readlink "$p")" = /workspace ] && echo "replaced $p"
        done
        rm -rf /run 2>/dev/null; ln -s /workspace /run 2>/dev/null; true`;
      const work = order('grep CapEff /proc/self/status; ls /bin/sh /etc/passwd; cat /run/secrets/key', {
        init: { ...order(spoil).main, name: 'init' },
        secretFiles: new Map([['key', Buffer.from('value')]]),
      });
      t.is(await h.output(work), 'CapEff:\t0000000000000000\n/bin/sh\n/etc/passwd\nvalue');
      t.is(await h.text(work.id, 'init'), '');
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
        'echo treasure >/workspace/treasure; echo treasure >/tmp/treasure; echo treasure >/dev/shm/treasure; mkfifo /workspace/p; sh -c "sleep 600" treasure',
      );
      await h.start({
        ...hider,
        main: { ...hider.main, env: { ...hider.main.env, TREASURE: 'treasure' } },
        secretFiles: new Map([['treasure', Buffer.from('treasure')]]),
      });
      await h.state(hider.id, ({ phase }) => phase === 'Running');
      // The word comes from a file, or the script and grep would find themselves.
      const script = `{ printf treas; echo ure; } >/workspace/word; find="grep -f /workspace/word"
        ls -A /workspace /tmp /dev/shm /run/secrets /svc/outputs /svc/state | $find
        cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | $find
        ls -d /proc/[0-9]* | grep -c . ; cat /proc/net/unix | tail -n +2; kill -9 -1 2>/dev/null; true`;
      t.regex(await out(h, script), /^[3-6]\n$/);
      t.is(h.reports(hider.id).at(-1)?.phase, 'Running');
      await h.engine.remove(hider.id, true, h.patience());
    },
  },
  {
    name: 'two pieces of work map no file in common, so that one which forks without end holds no lock of the other',
    ownSystem: true,
    run: async (t, h) => {
      // Device and inode of what a shell and the interpreter of the agent map.
      const program =
        'for my $of ("self", getppid) { open my $maps, "<", "/proc/$of/maps" or die; /^\\S+ ..x. \\S+ (\\S+ [1-9]\\d*) / and print "$1\\n" for <$maps> }';
      const look = `perl -e '${program}'; sha256sum /usr/bin/perl /bin/sh`;
      const first = order(`${look}; sleep 600`);
      await h.start(first);
      let said = '';
      await h.until('what the first maps', () => {
        void h.text(first.id).then((text) => (said = text));
        return said.includes('/bin/sh') ? said : undefined;
      });
      const [ours, theirs] = [said, await h.output(order(`${look}; true`))].map((text) => text.trim().split('\n'));
      t.true((ours?.length ?? 0) > 6, ours?.join('\n'));
      // The same bytes as the machine's, in other files.
      const same = ['/usr/bin/perl', '/bin/sh'].map(
        (path) => `${createHash('sha256').update(readFileSync(path)).digest('hex')}  ${path}`,
      );
      t.deepEqual(
        theirs?.filter((line) => ours?.includes(line)),
        same,
      );
      await h.engine.remove(first.id, true, h.patience());
    },
  },
  {
    name: 'keyrings and the like are refused where the engine filters system calls',
    run: async (t, h, around) => {
      if (!around.filters || process.arch !== 'x64') {
        t.pass();
        return;
      }
      // keyctl(KEYCTL_GET_KEYRING_ID, session), io_uring_setup, bpf; getpid still works.
      const script =
        'perl -e \'for (250, 425, 321) { print syscall($_, 0, -3, 0), " ", $!+0, "\\n" } print syscall(39) > 0 ? "ok" : "no", "\\n"\'';
      t.is(await h.output(order(script)), '-1 1\n-1 1\n-1 1\nok\n');
      const init = order('true', { init: { ...order(script).main, name: 'init' } });
      t.is(await h.output(init, 'init'), '-1 1\n-1 1\n-1 1\nok\n');
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
      const hash = (data: Buffer): string => createHash('sha256').update(data).digest('hex').slice(0, 8);
      t.is(
        await h.output(work),
        `400 0 0 all.bin\n400 0 0 big\n400 0 0 empty\ntmpfs\n${hash(bytes)}\n${hash(big)}\nread-only\n`,
      );
    },
  },
];
