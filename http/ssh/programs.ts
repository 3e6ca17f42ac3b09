/** What is run inside for each thing that a client may ask of a session. The image has at least `/bin/sh`. */

/** The user's shell when the environment names one that is there, else bash, else sh; and who the user is, which sshd tells as well. */
const SHELL =
  '[ -x "${SHELL:-}" ] || if [ -x /bin/bash ]; then SHELL=/bin/bash; else SHELL=/bin/sh; fi; ' +
  '[ -n "${USER:-}" ] || USER=$(id -un 2>/dev/null) || USER=root; ' +
  'LOGNAME=${LOGNAME:-$USER}; export SHELL USER LOGNAME; ';

/** A login shell. */
export const LOGIN: readonly string[] = ['/bin/sh', '-c', `${SHELL}exec "$SHELL" -l`];

/** A command line, read by the user's shell. */
export function byShell(line: string): readonly string[] {
  return ['/bin/sh', '-c', `${SHELL}exec "$SHELL" -c "$1"`, 'ssh', line];
}

const SFTP_SERVERS = [
  '/usr/lib/openssh/sftp-server',
  '/usr/libexec/openssh/sftp-server',
  '/usr/lib/ssh/sftp-server',
  '/usr/libexec/sftp-server',
  '/usr/lib/sftp-server',
].join(' ');

/** The image's own, whose package differs by distribution. */
const SFTP: readonly string[] = [
  '/bin/sh',
  '-c',
  `for server in ${SFTP_SERVERS}; do [ -x "$server" ] && exec "$server"; done; echo "this image has no sftp-server" >&2; exit 127`,
];

/** Undefined: there is none of that name. */
export function subsystem(name: string): readonly string[] | undefined {
  return name === 'sftp' ? SFTP : undefined;
}

/** Variables that a client may set. Everything else is the Workspace's own matter (`spec.env`). */
export function mayBeSet(name: string): boolean {
  return name === 'LANG' || name === 'COLORTERM' || /^LC_[A-Z]{1,32}$/.test(name);
}
