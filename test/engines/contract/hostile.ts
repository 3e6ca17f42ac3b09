/**
 * What hostile code may try against the machine, its neighbours and the box's own first process; `ops/SECURITY.md` lists all of it, with
 * what stops it. Each case asserts the world afterwards. Cases that need Perl inside say so where an image has none.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pack as tarPack, type Header } from 'tar-stream';
import type { ExecutionContext } from 'ava';
import type { WorkSpec } from '../../../src/engines/compute/contract/engine.js';
import { REFUSED, UNKNOWN } from '../../../src/runner/isolation/calls.js';
import type { ContractCase } from './case.js';
import { order, type Harness } from '../compute-harness.js';

/** Work without a main program, that runs. */
async function box(h: Harness, more: Partial<WorkSpec> = {}): Promise<string> {
  const { main: _, ...rest } = order('true');
  return (await h.running({ ...rest, ...more })).id;
}

async function out(h: Harness, work: string, script: string): Promise<string> {
  return (await h.ran(work, script)).stdout;
}

/** Undefined, and told of, where the image has no Perl. */
async function perl(t: ExecutionContext, h: Harness, work: string, program: string): Promise<string | undefined> {
  if ((await out(h, work, 'command -v perl')) === '') {
    t.log('no Perl inside');
    return undefined;
  }
  return (await h.ran(work, ['perl', '-e', program])).stdout;
}

const ABSTRACT = (name: string): string => `pack("S a*", 1, "\\0${name}")`;
/** Listens on an abstract socket, says so, and tells of the first who comes. */
const LISTEN = (name: string): string =>
  `$| = 1; socket(S, 1, 1, 0); bind(S, ${ABSTRACT(name)}) && listen(S, 5) or die; print "ready\\n"; accept(C, S); print "reached\\n"; sleep 600`;
const CONNECT = (name: string): string =>
  `socket(S, 1, 1, 0); print connect(S, ${ABSTRACT(name)}) ? "reached\\n" : "refused\\n"`;

/** Those of the box's own namespaces, which a kernel may let it change: the machine's stay as they are. */
const OWN_SETTINGS = ['kernel/msgmax', 'kernel/shmmni', 'kernel/pid_max', 'fs/mqueue/queues_max'];
const OWN = '/fs/mqueue/|/kernel/(auto_msgmni|msg|sem|shm|ns_last_pid|pid_max)';

const machineState = (): readonly (string | undefined)[] =>
  [
    'kernel/core_pattern',
    'kernel/hostname',
    'kernel/sysrq',
    'kernel/modprobe',
    'vm/overcommit_memory',
    ...OWN_SETTINGS,
  ].map((name) => {
    const path = join('/proc/sys', name);
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  });

export const hostileCases: readonly ContractCase[] = [
  {
    name: 'hostile: nothing of the machine can be set by /proc, and its memory, log and timers cannot be read',
    run: async (t, h) => {
      const before = machineState();
      const work = await box(h);
      const writable =
        'for f in $(find /proc/sys /proc/irq /proc/bus /proc/fs /proc/driver /proc/scsi /proc/acpi /proc/sysrq-trigger -type f 2>/dev/null); do { true >>"$f"; } 2>/dev/null && echo "$f"; done; true';
      const opened = (await out(h, work, writable)).split('\n').filter(Boolean);
      t.deepEqual(
        opened.filter((path) => !new RegExp(`^/proc/sys(${OWN})`).test(path)),
        [],
      );
      for (const name of OWN_SETTINGS) await h.ran(work, `echo 8000 >/proc/sys/${name}`);
      t.is(await out(h, work, 'cat /proc/kcore /proc/kmsg /proc/timer_list /proc/1/mem 2>/dev/null | head -c 100'), '');
      const change = `date -s 2001-01-01 >/dev/null && echo clock; hostname evil && echo name; dmesg | grep . | head -n 1
        mount -o remount,rw /usr && echo remounted; umount -l /proc && echo unmounted; mount -t proc proc /tmp && echo proc
        mount -t cgroup x /tmp && echo groups; find / -xdev -name cgroup.procs; true`;
      t.is(await out(h, work, change), '');
      t.deepEqual(machineState(), before);
      await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'hostile: the first process of the box can be neither ended, stopped, traced nor looked into',
    run: async (t, h) => {
      const work = await box(h);
      const look = `for signal in KILL STOP TERM INT HUP SEGV; do kill -$signal 1 2>/dev/null; done
        cat /proc/1/environ /proc/1/maps /proc/1/mem 2>/dev/null | head -c 100; readlink /proc/1/exe /proc/1/cwd /proc/1/root
        for f in /proc/1/fd/*; do readlink "$f"; { true <"$f" && echo "opened $f"; } 2>/dev/null; done
        ls /proc/1/map_files/* /proc/1/root/etc/passwd 2>/dev/null; true`;
      t.is(await out(h, work, look), '');
      const number = { x64: 101, arm64: 117 }[process.arch as string] ?? -1;
      // ATTACH, SEIZE; then process_vm_readv of it.
      const trace = `for my $how (16, 0x4206) { print "traced\\n" if syscall(${number}, $how, 1, 0, 0) == 0 }`;
      t.is((await perl(t, h, work, trace)) ?? '', '');
      t.is(await out(h, work, 'echo alive'), 'alive\n');
      await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'hostile: signals and abstract sockets reach neither a neighbour nor the machine',
    run: async (t, h) => {
      const [hostile, neighbour] = await Promise.all([box(h), box(h)]);
      const nap = `600.${randomInt(1e9)}`;
      const [inside, outside] = [`in-${randomInt(1e9)}`, `out-${randomInt(1e9)}`];
      const sleeper = await h.exec(neighbour, `echo here; exec sleep ${nap}`);
      await sleeper.output[Symbol.asyncIterator]().next();
      const onMachine = spawn('perl', ['-e', LISTEN(outside)], { stdio: ['ignore', 'pipe', 'inherit'] });
      t.teardown(() => onMachine.kill('SIGKILL'));
      await once(onMachine.stdout, 'data');
      const withPerl = (await out(h, hostile, 'command -v perl')) !== '';
      if (withPerl) {
        const listener = await h.exec(neighbour, ['perl', '-e', LISTEN(inside)]);
        await listener.output[Symbol.asyncIterator]().next();
        t.is(await perl(t, h, hostile, CONNECT(inside)), 'refused\n');
        t.is(await perl(t, h, hostile, CONNECT(outside)), 'refused\n');
        // It is there for who may reach it.
        t.is(await perl(t, h, neighbour, CONNECT(inside)), 'reached\n');
        const numbers = `kill 9, grep { $_ != $$ } 2 .. 70000, map { -$_ } 2 .. 70000`;
        await perl(t, h, hostile, numbers);
      }
      await out(h, hostile, `kill -9 ${onMachine.pid} ${process.pid} ${process.ppid}; kill -9 -1`);
      t.is(await out(h, hostile, 'echo alive'), 'alive\n');
      t.regex(await out(h, neighbour, 'cat /proc/[0-9]*/cmdline | tr "\\0" " "'), new RegExp(`sleep ${nap}`));
      t.is(onMachine.exitCode ?? onMachine.signalCode, null);
      await Promise.all([hostile, neighbour].map((work) => h.engine.remove(work, true, h.patience())));
    },
  },
  {
    name: 'hostile: calls to the kernel that work never needs are refused',
    ownFilter: true,
    run: async (t, h, around) => {
      const architecture = process.arch;
      if (architecture !== 'x64' && architecture !== 'arm64') {
        t.pass();
        return;
      }
      const work = await box(h);
      const called = (numbers: readonly number[]): string =>
        `for (${numbers.join(',')}) { my $r = syscall($_, 0, 0, 0, 0, 0); print "$_ ", $r < 0 ? $!+0 : "done", "\\n" }`;
      const refused = Object.values(REFUSED).flatMap((call) => call[architecture] ?? []);
      const found = await perl(t, h, work, called(refused));
      if (found === undefined) return;
      if (around.filters) t.is(found, refused.map((number) => `${number} 1\n`).join(''));
      // Namespaces that are to be made by flags; a call by another table and one that nobody knows yet.
      const flags = `for my $bit (7, 17, 25 .. 30) { print "unshared $bit\\n" if syscall(${architecture === 'x64' ? 272 : 97}, 1 << $bit) == 0 }`;
      t.is(await perl(t, h, work, flags), '');
      const sockets = `for my $family (12, 17, 31, 38, 40) { print "socket $family\\n" if socket(my $s, $family, 3, 0) || socket(my $d, $family, 5, 0) }`;
      t.is(await perl(t, h, work, sockets), '');
      if (around.filters) {
        const absent = [...Object.values(UNKNOWN).map((call) => call[architecture]), 470, 0x40000027];
        t.is(await perl(t, h, work, called(absent)), absent.map((number) => `${number} 38\n`).join(''));
        const ptrace = `my $pid = fork; if (!$pid) { sleep 600 } print syscall(${architecture === 'x64' ? 101 : 117}, 16, $pid, 0, 0), "\\n"; kill 9, $pid`;
        t.is(await perl(t, h, work, ptrace), '0\n', 'debuggers work');
      }
      await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'hostile: no device but the harmless ones is there, and set-user-id gives no rights',
    run: async (t, h) => {
      const work = await box(h);
      const devices = (await out(h, work, 'find /dev -type b -o -type c')).split('\n').filter(Boolean);
      const harmless = /^\/dev\/(null|zero|full|random|urandom|tty|console|ptmx|pts\/(ptmx|\d+))$/;
      t.deepEqual(
        devices.filter((path) => !harmless.test(path)),
        [],
      );
      const script = `for kind in "b 8 0" "b 254 0" "c 1 1" "c 10 229"; do mknod /workspace/device $kind && echo made; done
        cp "$(command -v cat)" /workspace/own; chmod 6755 /workspace/own; /workspace/own /proc/self/status | grep -E "^(CapEff|CapPrm|NoNewPrivs)"
        for p in /bin/su /bin/mount /usr/bin/sudo; do [ -u "$p" ] && "$p" --version; done >/dev/null; true`;
      const zero = '0000000000000000';
      t.is(await out(h, work, script), `CapPrm:\t${zero}\nCapEff:\t${zero}\nNoNewPrivs:\t1\n`);
      await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'hostile: an archive brings no device and no link to what is not its own',
    run: async (t, h, around) => {
      const at = mkdtempSync(join(around.files, 'in-'));
      writeFileSync(join(at, 'host'), 'host\n', { mode: 0o644 });
      const bad: readonly (Partial<Header> & { name: string })[] = [
        { name: 'disk', type: 'block-device', devmajor: 8, devminor: 0 },
        { name: 'memory', type: 'character-device', devmajor: 1, devminor: 1 },
        { name: 'passwd', type: 'link', linkname: '/etc/shadow' },
        { name: 'host', type: 'link', linkname: join(at, 'host') },
      ];
      for (const [index, entry] of bad.entries()) {
        const archive = tarPack();
        archive.entry(entry);
        archive.finalize();
        const chunks: Buffer[] = [];
        for await (const chunk of archive) chunks.push(chunk as Buffer);
        writeFileSync(join(at, `${index}.tar`), Buffer.concat(chunks));
      }
      around.share(at);
      for (const [index, { name }] of bad.entries()) {
        const input = { path: '/workspace', source: join(at, `${index}.tar`), unpack: 'tar', writable: true } as const;
        const work = order(`[ -e /workspace/${name} ] && echo there; echo evil >/workspace/${name}`, {
          inputs: [input],
        });
        const state = await h.run(work);
        if (state.phase !== 'StartFailed') t.is(await h.text(work.id), '', name);
        await h.engine.remove(work.id, true, h.patience());
      }
      t.is(readFileSync(join(at, 'host'), 'utf8'), 'host\n');
    },
  },
  {
    name: 'hostile: work that wipes all that it can reach harms neither a neighbour nor who comes next',
    run: async (t, h, around) => {
      const canary = join(around.files, `canary-${randomInt(1e9)}`);
      writeFileSync(canary, 'alive\n', { mode: 0o666 });
      const [hostile, neighbour] = await Promise.all([box(h), box(h)]);
      await out(h, neighbour, 'echo mine >/workspace/f; echo mine >/tmp/f; echo mine >/root/f');
      // What of the system is small; that nothing of it goes shows in a few.
      const wipe = `exec 2>/dev/null; cd /; for p in /* /proc/1/root/* /proc/1/cwd/*; do
          case "$p" in */proc | */usr | */lib* | */bin | */sbin) ;; *) rm -rf "$p" ;; esac
        done; rm -f /usr/bin/env /usr/bin/[a-c]* /lib/*`;
      await h.ran(hostile, wipe);
      t.is(
        await out(h, neighbour, 'cat /workspace/f /tmp/f /root/f; ls -d /etc/passwd'),
        'mine\nmine\nmine\n/etc/passwd\n',
      );
      t.is(readFileSync(canary, 'utf8'), 'alive\n');
      await h.engine.remove(hostile, true, h.patience());
      const next = await box(h);
      t.is(
        await out(h, next, 'ls -A /workspace /tmp; ls -d /etc/passwd /usr/bin/env'),
        '/tmp:\n\n/workspace:\n/etc/passwd\n/usr/bin/env\n',
      );
      await Promise.all([neighbour, next].map((work) => h.engine.remove(work, true, h.patience())));
    },
  },
  {
    name: 'hostile: work takes no precedence over others and raises no limit of its own',
    run: async (t, h) => {
      const work = await box(h);
      const script = `{ nice -n -5 true && nice -n -5 cat /proc/self/stat | cut -d" " -f19 | grep -- -; chrt -f 1 true && echo realtime
          ionice -c 1 true && ionice -c 1 ionice | grep realtime; echo -999 >/proc/self/oom_score_adj && echo unkillable
          ulimit -n 1000000 && echo files; ulimit -c unlimited && echo core; } 2>/dev/null; true`;
      t.is(await out(h, work, script), '');
      const limits = await out(h, work, 'cat /proc/self/limits');
      const [, files] = /^Max open files +(?:\d+) +(\d+)/m.exec(limits) ?? [];
      t.true(Number(files) <= 65_536, limits);
      // More than nothing: at one, the kernel hands no dump to the machine's handler either.
      t.regex(limits, /^Max core file size +1 +1 /m);
      await h.engine.remove(work, true, h.patience());
    },
  },
];
