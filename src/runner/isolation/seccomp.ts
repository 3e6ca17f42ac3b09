/**
 * Makes the refused system calls (`calls.ts`) into a filter program for the kernel. Pure.
 *
 * The kernel runs it for every call but those that it finds to be allowed whatever their arguments, which it remembers. So what is
 * allowed costs nothing, and the comparisons may stand one after another.
 */
import {
  type Architecture,
  CHECKED,
  CLOSE_RANGE_UNSHARE,
  FAMILIES,
  FILES,
  isKnown,
  NETLINK,
  NETLINK_PROTOCOL,
  NEWEST,
  NEW_NAMESPACES,
  NEW_TIME,
  PERSONALITIES,
  PERSONALITY_QUERY,
  REFUSED,
  SOCKET_OPTIONS,
  TERMINAL_REQUESTS,
  THREAD,
  UNKNOWN,
} from './calls.js';

/** AUDIT_ARCH_* of linux/audit.h. */
const MACHINES: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

// Classic BPF: codes of linux/bpf_common.h, results of linux/seccomp.h.
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_ABOVE = 0x25;
const JUMP_IF_ANY = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const EPERM = 1;
const EINVAL = 22;
const ENOSYS = 38;
const ENOPROTOOPT = 92;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;
/** Offsets in struct seccomp_data. What is compared has 32 bits, but for a pointer; both machines have the low half of an argument first. */
const NUMBER = 0;
const ARCH = 4;
const FIRST = 16;
const SECOND = 24;
const THIRD = 32;
const THIRD_HIGH = 36;
const ANY_BIT = 0xffffffff;

type Step = readonly [code: number, jumpTrue: number, jumpFalse: number, value: number];

const allow: Step = [RETURN, 0, 0, ALLOW];
const refuse = (errno: number): Step => [RETURN, 0, 0, ERRNO | errno];

/** The program for `process.arch`; undefined on a machine whose numbers are not known here. */
export function seccompFilter(architecture: string): Buffer | undefined {
  if (!isKnown(architecture)) return undefined;
  const checked = (name: keyof typeof CHECKED, ...steps: readonly Step[]): Step[] =>
    whenEqual(CHECKED[name][architecture], steps);
  const families: Step[] = [
    [LOAD, 0, 0, FIRST],
    [JUMP_IF_EQUAL, 0, 4, NETLINK],
    [LOAD, 0, 0, THIRD],
    [JUMP_IF_EQUAL, 0, 1, NETLINK_PROTOCOL],
    allow,
    refuse(EPROTONOSUPPORT),
    ...oneOf(FAMILIES, allow, refuse(EAFNOSUPPORT)),
  ];
  const numbers = Object.values(REFUSED).flatMap((call) => call[architecture] ?? []);
  return program([
    [LOAD, 0, 0, ARCH],
    // Calls by another table (32 bit) would go by other numbers: there are none.
    [JUMP_IF_EQUAL, 1, 0, MACHINES[architecture]],
    refuse(ENOSYS),
    [LOAD, 0, 0, NUMBER],
    // Among them a second table of the same machine (x32).
    [JUMP_IF_ABOVE, 0, 1, NEWEST],
    refuse(ENOSYS),
    ...Object.values(UNKNOWN).flatMap((call) => whenEqual(call[architecture], [refuse(ENOSYS)])),
    ...checked(
      'clone',
      [LOAD, 0, 0, FIRST],
      [JUMP_IF_ANY, 3, 0, NEW_NAMESPACES],
      [JUMP_IF_ANY, 0, 1, THREAD],
      [JUMP_IF_ANY, 0, 1, FILES],
      allow,
      refuse(EPERM),
    ),
    ...checked(
      'unshare',
      [LOAD, 0, 0, FIRST],
      [JUMP_IF_ANY, 0, 1, NEW_NAMESPACES | NEW_TIME | FILES],
      refuse(EPERM),
      allow,
    ),
    // As a kernel says that does not know the flag.
    ...checked('close_range', [LOAD, 0, 0, THIRD], [JUMP_IF_ANY, 0, 1, CLOSE_RANGE_UNSHARE], refuse(EINVAL), allow),
    ...checked('socket', ...families),
    ...checked('socketpair', ...families),
    ...checked('ioctl', [LOAD, 0, 0, SECOND], ...oneOf(TERMINAL_REQUESTS, refuse(EPERM), allow)),
    ...checked(
      'personality',
      [LOAD, 0, 0, FIRST],
      [JUMP_IF_EQUAL, 1, 0, PERSONALITY_QUERY],
      [JUMP_IF_ANY, 1, 0, ~PERSONALITIES >>> 0],
      allow,
      refuse(EPERM),
    ),
    ...checked(
      'setsockopt',
      ...SOCKET_OPTIONS.flatMap(({ level, options, exists }): Step[] => [
        [LOAD, 0, 0, SECOND],
        ...whenEqual(level, [[LOAD, 0, 0, THIRD], ...oneOf(options, refuse(exists ? EPERM : ENOPROTOOPT), allow)]),
      ]),
      allow,
    ),
    // A process sets its own limits (pid 0) and reads those of others; setting another's could take from the box's first process what it needs.
    ...checked(
      'prlimit64',
      [LOAD, 0, 0, FIRST],
      [JUMP_IF_EQUAL, 4, 0, 0],
      [LOAD, 0, 0, THIRD],
      [JUMP_IF_ANY, 3, 0, ANY_BIT],
      [LOAD, 0, 0, THIRD_HIGH],
      [JUMP_IF_ANY, 1, 0, ANY_BIT],
      allow,
      refuse(EPERM),
    ),
    ...oneOf(numbers, refuse(EPERM), allow),
  ]);
}

/** These steps, which end with a result, if what is loaded is this. */
function whenEqual(number: number, steps: readonly Step[]): Step[] {
  return [[JUMP_IF_EQUAL, 0, steps.length, number], ...steps];
}

/** At most 255 values: a jump is one byte. */
function oneOf(values: readonly number[], found: Step, otherwise: Step): Step[] {
  return [...values.map((value, index): Step => [JUMP_IF_EQUAL, values.length - index, 0, value]), otherwise, found];
}

function program(steps: readonly Step[]): Buffer {
  const bytes = Buffer.alloc(steps.length * 8);
  steps.forEach(([code, jumpTrue, jumpFalse, value], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  });
  return bytes;
}
