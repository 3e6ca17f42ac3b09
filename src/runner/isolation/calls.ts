/**
 * Which system calls work is refused, and the numbers of these and of those that our own programs make. Pure. `seccomp.ts` makes the kernel's filter of it.
 *
 * Namespaces and the lack of capabilities decide what most calls may do; refused as well is what they do not cover (keyrings, the
 * kernel's log, sockets of the hypervisor), and what is a way into the kernel by which escapes came and which programs do without.
 * The choice follows the default profile of container daemons. Kept are `ptrace` and `process_vm_*` (debuggers; within a box they give
 * no more than its one user has anyway) and the calls on memory policy (databases, numeric libraries).
 */

/** Numbers of `arch/x86/entry/syscalls/syscall_64.tbl` and of `include/uapi/asm-generic/unistd.h`; absent where there is no such call. */
export const REFUSED: Readonly<Record<string, { readonly x64: number; readonly arm64?: number }>> = {
  // Namespaces, mounts, roots.
  setns: { x64: 308, arm64: 268 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  pivot_root: { x64: 155, arm64: 41 },
  open_tree: { x64: 428, arm64: 428 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  open_tree_attr: { x64: 467, arm64: 467 },
  name_to_handle_at: { x64: 303, arm64: 264 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  // Shared by everybody on the machine, whatever the namespaces: keyrings, the kernel's log, clock, name, modules, power.
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  syslog: { x64: 103, arm64: 116 },
  settimeofday: { x64: 164, arm64: 170 },
  clock_settime: { x64: 227, arm64: 112 },
  clock_adjtime: { x64: 305, arm64: 266 },
  sethostname: { x64: 170, arm64: 161 },
  setdomainname: { x64: 171, arm64: 162 },
  create_module: { x64: 174 },
  init_module: { x64: 175, arm64: 105 },
  delete_module: { x64: 176, arm64: 106 },
  finit_module: { x64: 313, arm64: 273 },
  get_kernel_syms: { x64: 177 },
  query_module: { x64: 178 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  reboot: { x64: 169, arm64: 142 },
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  acct: { x64: 163, arm64: 89 },
  quotactl: { x64: 179, arm64: 60 },
  quotactl_fd: { x64: 443, arm64: 443 },
  vhangup: { x64: 153, arm64: 58 },
  iopl: { x64: 172 },
  ioperm: { x64: 173 },
  // Large parts of the kernel that few programs need and many holes came by.
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  fanotify_init: { x64: 300, arm64: 262 },
  fanotify_mark: { x64: 301, arm64: 263 },
  kcmp: { x64: 312, arm64: 272 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  migrate_pages: { x64: 256, arm64: 238 },
  move_pages: { x64: 279, arm64: 239 },
  lookup_dcookie: { x64: 212, arm64: 18 },
  // Remains of older kernels.
  uselib: { x64: 134 },
  ustat: { x64: 136 },
  sysfs: { x64: 139 },
  _sysctl: { x64: 156 },
  nfsservctl: { x64: 180, arm64: 42 },
};

/**
 * Said not to exist: so that the C library takes the older call, whose flags can be looked at (`clone3` has them in memory), so that no box
 * takes what the whole machine has only so many of (`io_setup`: requests of `fs.aio-max-nr`), and so that no rule of Landlock holds a file
 * that has no name and no descriptor any more: nothing lists such files, so that they could not be measured.
 */
export const UNKNOWN = {
  clone3: { x64: 435, arm64: 435 },
  io_setup: { x64: 206, arm64: 0 },
  landlock_create_ruleset: { x64: 444, arm64: 444 },
  landlock_add_rule: { x64: 445, arm64: 445 },
  landlock_restrict_self: { x64: 446, arm64: 446 },
} as const;

/** Refused with some arguments only. */
export const CHECKED = {
  clone: { x64: 56, arm64: 220 },
  unshare: { x64: 272, arm64: 97 },
  close_range: { x64: 436, arm64: 436 },
  socket: { x64: 41, arm64: 198 },
  socketpair: { x64: 53, arm64: 199 },
  ioctl: { x64: 16, arm64: 29 },
  personality: { x64: 135, arm64: 92 },
  setsockopt: { x64: 54, arm64: 208 },
  prlimit64: { x64: 302, arm64: 261 },
} as const;

/** What our own programs in Perl ask the kernel for that it has no word for, beside what work is refused. */
export const OWN = {
  setsid: { x64: 112, arm64: 157 },
  prctl: { x64: 157, arm64: 167 },
  seccomp: { x64: 317, arm64: 277 },
  splice: { x64: 275, arm64: 76 },
  setresuid: { x64: 117, arm64: 147 },
  setresgid: { x64: 119, arm64: 149 },
  setgroups: { x64: 116, arm64: 159 },
  capset: { x64: 126, arm64: 91 },
  setrlimit: { x64: 160, arm64: 164 },
  utimensat: { x64: 280, arm64: 88 },
  mknodat: { x64: 259, arm64: 33 },
  statx: { x64: 332, arm64: 291 },
} as const;

export type Architecture = 'x64' | 'arm64';

/** One whose numbers are known here. */
export function isKnown(architecture: string): architecture is Architecture {
  return architecture === 'x64' || architecture === 'arm64';
}

/**
 * The newest call that this list was made with knowledge of (`file_setattr`, Linux 6.17). What comes after it is said not to exist, as
 * older kernels say: programs have to have another way. The numbers are the same on all machines by now.
 */
export const NEWEST = 469;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
export const NEW_NAMESPACES = 0x7e020000;
/** CLONE_NEWTIME, of `unshare` only: in `clone` the bit belongs to the signal. */
export const NEW_TIME = 0x80;
/** CLONE_THREAD. */
export const THREAD = 0x10000;
/**
 * CLONE_FILES: in `clone`, one table of descriptors with the caller; in `unshare`, one of its own from now on. The threads of a process have
 * one table together, as those of every C library and runtime have: what a process holds open is looked up once, not once for each thread.
 */
export const FILES = 0x400;
/** CLOSE_RANGE_UNSHARE: the same as `unshare(CLONE_FILES)`, and then closes. */
export const CLOSE_RANGE_UNSHARE = 2;
/**
 * Unix, IPv4, IPv6, netlink: those that a network namespace confines and that programs use. Others are not confined (vsock reaches the
 * hypervisor), or large parts of the kernel that nobody needs (the kernel's ciphers).
 */
export const FAMILIES = [1, 2, 10, 16] as const;
/**
 * Netlink exists with this protocol only (NETLINK_ROUTE, by which programs list interfaces and addresses). By others a program sends to itself
 * (NETLINK_USERSOCK) what no control group counts, and reaches parts of the kernel that work does not need.
 */
export const NETLINK = 16;
export const NETLINK_PROTOCOL = 0;
/** SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF, of the level SOL_SOCKET. */
const SOCKET_PROGRAMS = [26, 50, 51, 52] as const;
/** TCP_MD5SIG, TCP_MD5SIG_EXT, TCP_AO_ADD_KEY, TCP_AO_DEL_KEY, TCP_AO_INFO, of the level IPPROTO_TCP. */
const TCP_KEYS = [14, 32, 38, 39, 40] as const;
/**
 * IPV6_2292PKTOPTIONS, IPV6_ADD_MEMBERSHIP, IPV6_FLOWLABEL_MGR, MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP, of the level IPPROTO_IPV6. Groups of IPv4
 * are twenty for each socket.
 */
const IPV6_ROOM = [6, 20, 32, 42, 46] as const;
/**
 * Options of sockets that are refused, by their level. Programs for the kernel take room of which the whole machine has a fixed amount
 * (`net.core.bpf_jit_limit`), and without which no filter of system calls can be loaded any more. Of the others each socket takes up to
 * `net.core.optmem_max` (128 KiB) of the kernel's memory, which no control group counts, and flow labels are so many for the whole machine;
 * those are said not to exist.
 */
export const SOCKET_OPTIONS = [
  { level: 1, options: SOCKET_PROGRAMS, exists: true },
  { level: 6, options: TCP_KEYS, exists: false },
  { level: 41, options: IPV6_ROOM, exists: false },
] as const;
/** TIOCSTI (input for the terminal, as if typed), TIOCLINUX (the same by the console's clipboard). */
export const TERMINAL_REQUESTS = [0x5412, 0x541c] as const;
/** PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE (debuggers). Others switch protections of the kernel off. */
export const PERSONALITIES = 0x0060008;
/** Only asks. */
export const PERSONALITY_QUERY = 0xffffffff;
