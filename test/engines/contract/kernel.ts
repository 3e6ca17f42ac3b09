/**
 * What hostile code may try against the machine's kernel by means that belong to all boxes together: its memory, its room for programs, and
 * the limits of the box's first process. `ops/SECURITY.md` lists the attempts.
 */
import type { ContractCase } from './case.js';
import { CHECKED } from '../../../src/runner/isolation/calls.js';
import { box, LIMITS, MiB, order } from '../compute-harness.js';

const PROTOCOL_ABSENT = 93;
const OPTION_ABSENT = 92;
const CALL_ABSENT = 38;
const BAD_FLAG = 22;
const REFUSED = 1;

/**
 * Options by which a socket takes the kernel's memory, each with what the kernel would take for good: keys of TCP (MD5 and AO), what goes with
 * every packet, groups and flow labels of IPv6. Prints the error of each.
 */
const UNCOUNTED_OPTIONS = `socket(my $t, 2, 1, 0); socket(my $u, 10, 2, 0); my $group = pack "n x12 n", 0xff01, 7;
  my $peer = pack "S n C4 x120", 2, 0, 10, 0, 0, 1; my $at = pack "S n N a16 L x100", 10, 0, 0, $group, 0;
  my @tries = ([$t, 6, 14, pack "a128 C C S L a80", $peer, 0, 0, 8, 0, "k" x 8], [$t, 6, 32, pack "a128 C C S L a80", $peer, 0, 32, 8, 0, "k" x 8],
    [$t, 6, 38, pack "a128 a64 l L S C4 x2 a80", $peer, "cmac(aes128)", 0, 0, 0, 32, 100, 100, 0, "k" x 16], [$t, 6, 40, pack "x48"],
    [$u, 41, 6, pack "Q l l x60000", 60016, 0, 1], [$u, 41, 20, pack "a16 L", $group, 1], [$u, 41, 42, pack "L x4 a128", 1, $at],
    [$u, 41, 46, pack "L x4 a128 a128", 1, $at, $at], [$u, 41, 32, pack "a16 N C C S S S x4", $group, 7, 0, 255, 1, 6, 6]);
  for (@tries) { my ($s, $level, $option, $value) = @$_; print "$level $option ", setsockopt($s, $level, $option, $value) ? "set" : $! + 0, "\n" }`;

/** Numbers of clone, unshare; flags as a thread has them that begins with a table of its own, then those that ask for one. */
const OWN_TABLES = (clone: number, unshare: number): string =>
  `for ([${unshare}, 0x400], [${unshare}, 0x600], [436, 1000, 1001, 2], [${clone}, 0x10b00, 0, 0, 0, 0]) {
    my ($call, @words) = @$_; print "$call ", syscall($call, @words) < 0 ? $! + 0 : "done", "\n" }
  print syscall(436, 1000, 1001, 4) == 0 ? "closes\n" : $! + 0, syscall(${unshare}, 0x200) == 0 ? "own directory\n" : $! + 0`;

/** Asks for the attributes of the loopback again and again, on so many sockets of netlink, and reads no answer. */
const UNREAD_ANSWERS = `my @kept; for (1 .. 1000) {
    socket(my $s, 16, 3, 0) or last; connect($s, pack("S S L L", 16, 0, 0, 0));
    my $ask = pack("L S S L L C C S l L L", 32, 18, 1, 1, 0, 0, 0, 0, 1, 0, 0);
    for (1 .. 200) { send($s, $ask, 0x40) or last } push @kept, $s } print "filled\\n"; sleep 600`;

/** Writes to itself over loopback on so many connections, reads nothing, and says how many MiB were taken. */
const UNREAD_STREAMS = `use Socket; use Fcntl; $| = 1; my @kept; my $sum = 0; my $data = "x" x 65536;
  socket(my $l, AF_INET, SOCK_STREAM, 0); bind($l, pack_sockaddr_in(0, inet_aton("127.0.0.1"))); listen($l, 128); my $at = getsockname($l);
  for (1 .. 60) { socket(my $c, AF_INET, SOCK_STREAM, 0); connect($c, $at) or last; accept(my $d, $l) or last; push @kept, $c, $d;
    fcntl($c, F_SETFL, O_NONBLOCK) }
  for my $try (1 .. 400) { my $more = 0;
    for (my $i = 0; $i < @kept; $i += 2) { my $n = syswrite($kept[$i], $data); if ($n) { $sum += $n; $more = 1 } }
    $more or select(undef, undef, undef, 0.01) }
  print int($sum / 1048576), "\\n"`;

export const kernelCases: readonly ContractCase[] = [
  {
    name: 'kernel: sockets by which a program fills the kernel’s memory unseen do not exist, nor programs for sockets',
    ownFilter: true,
    run: async (t, h, around) => {
      const work = (await h.running(box())).id;
      const program = `socket(my $u, 16, 3, 2) and print "usersock\\n"; print $! + 0, "\\n"; socket(my $r, 16, 3, 0) or print "no route\\n";
        socket(my $s, 2, 2, 0); my $code = pack "S C C L", 6, 0, 0, 0xffff; my $filter = pack "S x6 P", 1, $code;
        for (26, 51) { setsockopt($s, 1, $_, $filter) and print "attached $_\\n"; print $! + 0, "\\n" }`;
      const { stdout } = await h.ran(work, ['perl', '-e', program]);
      if (around.filters) t.is(stdout, `${PROTOCOL_ABSENT}\n${REFUSED}\n${REFUSED}\n`);
      await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'kernel: options by which each socket takes memory that nobody counts do not exist',
    ownFilter: true,
    run: async (t, h, around) => {
      const work = (await h.running(box())).id;
      const { stdout, stderr } = await h.ran(work, ['perl', '-e', UNCOUNTED_OPTIONS]);
      const tried = ['6 14', '6 32', '6 38', '6 40', '41 6', '41 20', '41 42', '41 46', '41 32'];
      if (around.filters) t.is(stdout, tried.map((option) => `${option} ${OPTION_ABSENT}\n`).join(''), stderr);
      await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'kernel: no thread has open files that its process has not, and no rule of Landlock holds a file that has no name',
    ownFilter: true,
    run: async (t, h, around) => {
      const architecture = process.arch;
      if (!around.filters || (architecture !== 'x64' && architecture !== 'arm64')) {
        t.pass();
        return;
      }
      const work = (await h.running(box())).id;
      const [clone, unshare] = [CHECKED.clone[architecture], CHECKED.unshare[architecture]];
      const { stdout, stderr } = await h.ran(work, ['perl', '-e', OWN_TABLES(clone, unshare)]);
      const errors = [`${unshare} ${REFUSED}`, `${unshare} ${REFUSED}`, `436 ${BAD_FLAG}`, `${clone} ${REFUSED}`];
      t.is(stdout, `${errors.join('\n')}\ncloses\nown directory\n`, stderr);
      const rules = 'for (444 .. 446) { print syscall($_, 0, 0, 1), " ", $! + 0, "\n" }';
      t.is((await h.ran(work, ['perl', '-e', rules])).stdout, `-1 ${CALL_ABSENT}\n`.repeat(3));
      await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'kernel: answers of the kernel that are not read end the box, not the machine’s memory',
    ownFilter: true,
    run: async (t, h) => {
      const state = await h.run(order(['perl', '-e', UNREAD_ANSWERS]));
      t.like(state, { phase: 'Exited', exitCode: 137, outOfMemory: true });
      const said = (await h.lines(state.id)).map(({ data }) => Buffer.from(data).toString()).join('\n');
      t.regex(said, /sockets hold \d+ bytes of the kernel's memory/);
    },
  },
  {
    name: 'kernel: what waits unread in connections of a box is bounded with its memory',
    needs: ['memory'],
    run: async (t, h, around) => {
      const work = (await h.running(box({ limits: { ...LIMITS, memory: 128 * MiB } }))).id;
      const { stdout, end } = await h.ran(work, ['perl', '-e', UNREAD_STREAMS]);
      if (around.filters) t.true(Number(stdout || '0') < 100, `${stdout} MiB, ${JSON.stringify(end)}`);
      await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'kernel: a box that opens terminals without end leaves those of the others',
    run: async (t, h, around) => {
      const [greedy, other] = [(await h.running(box())).id, (await h.running(box())).id];
      const program =
        'my @kept; while (@kept < 300 && sysopen my $s, "/dev/ptmx", 2 | 256) { push @kept, $s } print scalar @kept';
      const { stdout } = await h.ran(greedy, ['perl', '-e', program]);
      t.is(Number(stdout), around.boundsTerminals ? 256 : 300);
      const size = { columns: 80, rows: 24 };
      const one = await h.exec(other, 'tty', { terminal: size });
      let said = '';
      for await (const { data } of one.output) said += Buffer.from(data).toString();
      t.is(said, '/dev/pts/0\r\n');
      t.deepEqual(await one.ended, { end: 'Exited', exitCode: 0, timedOut: false });
      for (const work of [greedy, other]) await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'kernel: a program changes its own limits and nobody else’s, so commands can be run after it tried',
    ownFilter: true,
    run: async (t, h, around) => {
      const work = (await h.running(box())).id;
      const script =
        'prlimit --pid 1 --nofile=1:1; (ulimit -n 64 && ulimit -n); prlimit --pid 1 --nofile >/dev/null && echo read';
      const tried = await h.ran(work, script);
      if (around.filters) t.is(tried.stdout, '64\nread\n', tried.stderr);
      if (around.filters) t.is((await h.ran(work, 'echo alive')).stdout, 'alive\n');
      await h.engine.remove(work, true, h.patience());
    },
  },
  {
    name: 'kernel: the first process beside a command has no rights either',
    run: async (t, h) => {
      const text = await h.output(order('grep -E "^(Uid|CapPrm|CapEff|CapBnd|NoNewPrivs):" /proc/1/status'));
      const none = '0'.repeat(16);
      t.regex(
        text,
        new RegExp(
          `^Uid:(\\s+0){4}\\nCapPrm:\\s+${none}\\nCapEff:\\s+${none}\\nCapBnd:\\s+${none}\\nNoNewPrivs:\\s+1\\n$`,
        ),
      );
    },
  },
  {
    name: 'kernel: the tables of mounts and sockets tell where the data directory lies, and nothing of whose work this or other boxes hold',
    ownFilter: true,
    run: async (t, h, around) => {
      const work = order('cut -d" " -f4 /proc/self/mountinfo; tail -n +2 /proc/net/unix | grep -o "/.*"; true');
      const lines = (await h.output(work)).split('\n').filter(Boolean);
      const own = lines.filter(
        (path) => around.hidden.some((hidden) => path.includes(hidden)) || path.includes('/scratch/'),
      );
      t.true(own.length > 0, 'the table shows the root of this box');
      for (const path of own) t.regex(path, /\/runner\/scratch\/(\d+\/[a-z]+|\.system\/etc|\.private\/\d+\/[^/]+)$/);
      t.false(lines.some((path) => path.includes(work.id)));
    },
  },
];
