/**
 * Owns the list of system calls that work is refused, and its form as a filter program for the kernel. Pure.
 *
 * Namespaces do not cover them: keyrings belong to a session (the service's own, and shared by all work), and the others are the
 * ways into the kernel by which most escapes came and which programs do without. Everything else is allowed: what a call may
 * do is decided by the namespaces and by having no capability.
 */

const REFUSED = [
  'add_key',
  'request_key',
  'keyctl',
  'bpf',
  'perf_event_open',
  'userfaultfd',
  'io_uring_setup',
  'io_uring_enter',
  'io_uring_register',
  'kexec_load',
  'kexec_file_load',
  'open_by_handle_at',
] as const;

interface Machine {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly arch: number;
  readonly calls: Readonly<Record<(typeof REFUSED)[number], number>>;
  /** First number of a second table of calls that the same machine answers to (x32). */
  readonly otherTable?: number | undefined;
}

/** Numbers of `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h`. */
const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    arch: 0xc000003e,
    calls: {
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      bpf: 321,
      perf_event_open: 298,
      userfaultfd: 323,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      kexec_load: 246,
      kexec_file_load: 320,
      open_by_handle_at: 304,
    },
    otherTable: 0x40000000,
  },
  arm64: {
    arch: 0xc00000b7,
    calls: {
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      bpf: 280,
      perf_event_open: 241,
      userfaultfd: 282,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      kexec_load: 104,
      kexec_file_load: 294,
      open_by_handle_at: 265,
    },
  },
};

// Classic BPF: codes of linux/bpf_common.h, results of linux/seccomp.h.
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
/** Offsets in struct seccomp_data. */
const NUMBER = 0;
const ARCH = 4;

/** The program for `process.arch`; undefined on a machine whose numbers are not known here. */
export function seccompFilter(architecture: string): Buffer | undefined {
  const machine = MACHINES[architecture];
  if (machine === undefined) return undefined;
  const numbers = REFUSED.map((name) => machine.calls[name]);
  const steps: [code: number, jumpTrue: number, jumpFalse: number, value: number][] = [
    [LOAD, 0, 0, ARCH],
    // Calls by another table (32 bit) would go by other numbers: there are none.
    [JUMP_IF_EQUAL, 1, 0, machine.arch],
    [RETURN, 0, 0, ERRNO | ENOSYS],
    [LOAD, 0, 0, NUMBER],
  ];
  if (machine.otherTable !== undefined) {
    steps.push([JUMP_IF_AT_LEAST, 0, 1, machine.otherTable], [RETURN, 0, 0, ERRNO | ENOSYS]);
  }
  numbers.forEach((number, index) => {
    // To the refusal behind the allowance; both lie behind the comparisons that are left.
    steps.push([JUMP_IF_EQUAL, numbers.length - index, 0, number]);
  });
  steps.push([RETURN, 0, 0, ALLOW], [RETURN, 0, 0, ERRNO | EPERM]);
  const program = Buffer.alloc(steps.length * 8);
  steps.forEach(([code, jumpTrue, jumpFalse, value], index) => {
    program.writeUInt16LE(code, index * 8);
    program.writeUInt8(jumpTrue, index * 8 + 2);
    program.writeUInt8(jumpFalse, index * 8 + 3);
    program.writeUInt32LE(value, index * 8 + 4);
  });
  return program;
}
