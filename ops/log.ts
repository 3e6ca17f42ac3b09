/**
 * Owns the service's log: JSON lines on standard error.
 * I11: nothing of an object's contents and no header is ever given to it; what looks like a credential is cut out anyway.
 */
import { pino, type Logger } from 'pino';

export type Log = Logger;

const SECRET_PATHS = [
  'authorization',
  'headers.authorization',
  'key',
  'token',
  'password',
  'secret',
  '*.authorization',
];

export function openLog(level: string): Log {
  return pino(
    { level, base: { pid: process.pid }, redact: { paths: SECRET_PATHS, censor: '[cut]' } },
    pino.destination({ fd: 2, sync: false }),
  );
}
