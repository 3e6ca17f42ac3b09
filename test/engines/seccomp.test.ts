/** The filter of system calls: its numbers against the machine's headers, and its program run as the kernel would. */
import { existsSync, readFileSync } from 'node:fs';
import test from 'ava';
import { CHECKED, NEWEST, REFUSED, UNKNOWN } from '../../src/runner/isolation/calls.js';
import { seccompFilter } from '../../src/runner/isolation/seccomp.js';

const ARCHITECTURES = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
type Architecture = keyof typeof ARCHITECTURES;
const names = Object.keys(ARCHITECTURES) as Architecture[];

const ALLOWED = 0x7fff0000;
const EPERM = 0x00050001;
const EINVAL = 0x00050016;
const ENOSYS = 0x00050026;
const ENOPROTOOPT = 0x0005005c;
const EPROTONOSUPPORT = 0x0005005d;
const EAFNOSUPPORT = 0x00050061;

/** What the kernel's interpreter answers, for the few codes that are used; throws where it would refuse the program. */
function judge(program: Buffer, arch: number, number: number, args: readonly number[] = []): number {
  const data = [number, arch, 0, 0, ...args.flatMap((value) => [value % 2 ** 32, Math.floor(value / 2 ** 32)])];
  let accumulator = 0;
  for (let at = 0; at * 8 < program.length; at++) {
    const code = program.readUInt16LE(at * 8);
    const [yes, no] = [program.readUInt8(at * 8 + 2), program.readUInt8(at * 8 + 3)];
    const value = program.readUInt32LE(at * 8 + 4);
    if (code === 0x20) accumulator = (data[value / 4] ?? 0) >>> 0;
    else if (code === 0x15) at += accumulator === value ? yes : no;
    else if (code === 0x25) at += accumulator > value ? yes : no;
    else if (code === 0x45) at += (accumulator & value) !== 0 ? yes : no;
    else if (code === 0x06) return value;
    else throw new Error(`code ${code}`);
  }
  throw new Error('the program has no end');
}

function judges(architecture: Architecture): (number: number, ...args: readonly number[]) => number {
  const program = seccompFilter(architecture) as Buffer;
  return (number, ...args) => judge(program, ARCHITECTURES[architecture], number, args);
}

const HEADERS: Readonly<Record<Architecture, readonly string[]>> = {
  x64: ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm/unistd_64.h'],
  arm64: ['/usr/include/asm-generic/unistd.h'],
};

for (const architecture of names) {
  const header = HEADERS[architecture].find((path) => existsSync(path));
  const known = new Map(
    [...(header === undefined ? '' : readFileSync(header, 'utf8')).matchAll(/^#define __NR_(\w+) (\d+)$/gm)].map(
      ([, name, number]) => [name, Number(number)],
    ),
  );
  const check = header === undefined ? test.skip : test;
  check(`the numbers for ${architecture} are those of the kernel's header`, (t) => {
    const compared = Object.entries({ ...REFUSED, ...UNKNOWN, ...CHECKED }).filter(([name, numbers]) => {
      const number = known.get(name);
      const listed: number | undefined = numbers[architecture];
      // Newer than the header, or a call that this machine has not.
      if (number !== undefined) t.is(listed, number, name);
      return number !== undefined;
    });
    t.true(compared.length > 40, `${compared.length} compared`);
  });

  test(`on ${architecture} every listed call is refused, and their neighbours are not`, (t) => {
    const judged = judges(architecture);
    const listed = new Set(Object.values(REFUSED).flatMap((numbers) => numbers[architecture] ?? []));
    const checked = new Set<number>(Object.values(CHECKED).map((numbers) => numbers[architecture]));
    const unknown = new Set<number>(Object.values(UNKNOWN).map((numbers) => numbers[architecture]));
    for (let number = 0; number <= NEWEST; number++) {
      if (checked.has(number)) continue;
      const due = listed.has(number) ? EPERM : unknown.has(number) ? ENOSYS : ALLOWED;
      t.is(judged(number), due, `call ${number}`);
    }
  });

  test(`on ${architecture} some calls are refused for what they are asked`, (t) => {
    const judged = judges(architecture);
    const of = (name: keyof typeof CHECKED): number => CHECKED[name][architecture];
    // fork, a thread, vfork; then each kind of new namespace.
    for (const flags of [0x01200011, 0x003d0f00, 0x4111, 0x80]) t.is(judged(of('clone'), flags), ALLOWED);
    for (const flags of [17, 25, 26, 27, 28, 29, 30].map((bit) => 2 ** bit)) {
      t.is(judged(of('clone'), flags | 0x11), EPERM);
      t.is(judged(of('unshare'), flags), EPERM);
    }
    t.is(judged(of('unshare'), 0x80), EPERM);
    t.is(judged(of('unshare'), 0x0200), ALLOWED);
    // A table of descriptors of its own for a thread: asked for, or by a thread that begins without that of its process.
    for (const flags of [0x0400, 0x0600]) t.is(judged(of('unshare'), flags), EPERM);
    t.is(judged(of('clone'), 0x003d0b00), EPERM);
    t.is(judged(of('clone'), 0x0b00), ALLOWED, 'another process has one of its own');
    for (const [flags, due] of [
      [0, ALLOWED],
      [4, ALLOWED],
      [2, EINVAL],
      [6, EINVAL],
    ] as const) {
      t.is(judged(of('close_range'), 3, 0xffffffff, flags), due);
    }
    for (let family = 0; family < 50; family++) {
      const due = [1, 2, 10, 16].includes(family) ? ALLOWED : EAFNOSUPPORT;
      t.is(judged(of('socket'), family, 1, 0), due);
      t.is(judged(of('socketpair'), family, 1, 0), due);
    }
    for (const protocol of [2, 4, 9, 15, 31]) t.is(judged(of('socket'), 16, 3, protocol), EPROTONOSUPPORT);
    t.is(judged(of('socket'), 2, 1, 6), ALLOWED, 'protocols of other families are not looked at');
    for (let option = 0; option < 100; option++) {
      const due = [26, 50, 51, 52].includes(option) ? EPERM : ALLOWED;
      t.is(judged(of('setsockopt'), 3, 1, option), due, `SOL_SOCKET ${option}`);
      const key = [14, 32, 38, 39, 40].includes(option) ? ENOPROTOOPT : ALLOWED;
      t.is(judged(of('setsockopt'), 3, 6, option), key, `IPPROTO_TCP ${option}`);
      const room = [6, 20, 32, 42, 46].includes(option) ? ENOPROTOOPT : ALLOWED;
      t.is(judged(of('setsockopt'), 3, 41, option), room, `IPPROTO_IPV6 ${option}`);
      t.is(judged(of('setsockopt'), 3, 0, option), ALLOWED, `IPPROTO_IP ${option}`);
    }
    // Of another process: the address of a new limit may have nothing in its low half.
    for (const address of [0x1000, 2 ** 32, 0x7f00_0000_1234]) {
      t.is(judged(of('prlimit64'), 1, 7, address), EPERM);
      t.is(judged(of('prlimit64'), 0, 7, address), ALLOWED);
    }
    t.is(judged(of('prlimit64'), 1, 7, 0), ALLOWED, 'limits of others can be read');
    for (const [request, due] of [
      [0x5401, ALLOWED],
      [0x5413, ALLOWED],
      [0x5412, EPERM],
      [0x541c, EPERM],
    ] as const) {
      t.is(judged(of('ioctl'), 0, request), due);
    }
    for (const kind of [0, 8, 0x20000, 0x40000, 0xffffffff]) t.is(judged(of('personality'), kind), ALLOWED);
    for (const kind of [0x400000, 0x100000, 6, 0x80000000]) t.is(judged(of('personality'), kind), EPERM);
  });

  test(`on ${architecture} other tables of calls and calls that nobody knows yet are said not to exist`, (t) => {
    const judged = judges(architecture);
    for (const number of [NEWEST + 1, 0x40000000, 0x40000000 + 39, 0xffffffff]) t.is(judged(number), ENOSYS);
    t.is(judge(seccompFilter(architecture) as Buffer, 0x40000003, 20), ENOSYS);
  });
}

test('there is no filter for machines whose numbers are not known', (t) => {
  t.is(seccompFilter('ia32'), undefined);
});
