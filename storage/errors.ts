/**
 * Translates Postgres's errors into ours: what a failed statement means for its caller. No other file looks at an SQLSTATE.
 */
import { refuse, RefusalError } from '../src/api/refusal.js';

export type StorageFailure =
  /** The connection is gone. Whether a COMMIT that was under way took effect is not known. */
  | 'ConnectionLost'
  /** Nothing was written and the same statements may succeed at once: lost a race, waited too long for a lock. */
  | 'TryAgain'
  /** Nothing was written: a statement ran past its limit. Less at once may do. */
  | 'TooSlow'
  /** Postgres is there and cannot take it now: full disk, too many connections, a standby that takes no writes. */
  | 'Unavailable'
  /** The statement itself is refused: its data or its form. It will be refused again. */
  | 'Refused';

const CLOSED_SOCKETS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ECONNABORTED',
  // This machine has no port, descriptor or memory left for one more connection.
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
]);

export function classify(error: unknown): StorageFailure {
  // A mistake of ours on the way to Postgres: it would happen again.
  if (error instanceof TypeError || error instanceof RangeError) return 'Refused';
  const code = codeOf(error);
  // Without a code it is the driver's own: "Connection terminated", "timeout exceeded when trying to connect", …
  if (code === undefined || CLOSED_SOCKETS.has(code)) return 'ConnectionLost';
  // 57P01–57P05: shut down, crashed, starting up, dropped, idle too long. 25P03: idle too long inside a transaction.
  if (code.startsWith('08') || code.startsWith('57P') || code === '25P03') return 'ConnectionLost';
  if (code === '57014') return 'TooSlow';
  // Serialization, deadlock, lock not available.
  if (code === '40001' || code === '40P01' || code === '55P03') return 'TryAgain';
  // 53: out of disk, memory, connections. 25006: read-only. 58: input/output error. XX: internal error.
  if (code.startsWith('53') || code === '25006' || code.startsWith('58') || code.startsWith('XX')) return 'Unavailable';
  return 'Refused';
}

/** Code and class only: Postgres's message and detail can quote the row (I11). */
export function describe(error: unknown): string {
  const code = codeOf(error);
  return `${classify(error)} (${code ?? (error instanceof Error ? error.message : 'unknown')})`;
}

/** For reads: what the caller is answered. A failed read is never the client's fault. */
export function unavailable(error: unknown): RefusalError {
  return refuse('Unavailable', `storage did not answer: ${describe(error)}`, { retryAfterSeconds: 1 });
}

/**
 * How the errors begin that pg and pg-pool make themselves, without a code, when a connection is not made or breaks, or an answer does
 * not come or makes no sense. `test/storage/errors.test.ts` knows every error of theirs.
 */
const DRIVER = [
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed',
  'Cannot use a pool after calling end',
  'There was an error establishing an SSL connection',
  'Received unexpected ',
  'received invalid response: ',
];

/** Postgres does not answer, or takes nothing now: the same may succeed later. Everything else is a fault of ours. */
export function isOutage(error: unknown): boolean {
  if (error instanceof RefusalError) return error.refusal.code === 'Unavailable';
  if (!(error instanceof Error)) return false;
  if (codeOf(error) === undefined) return DRIVER.some((start) => error.message.startsWith(start));
  // A file that is missing has a code of a closed socket, too.
  const syscall = 'syscall' in error ? error.syscall : undefined;
  return classify(error) !== 'Refused' && (typeof syscall !== 'string' || SOCKET_CALLS.has(syscall));
}

const SOCKET_CALLS = new Set(['connect', 'read', 'write', 'getaddrinfo']);

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
