/**
 * The service's log on standard error: JSON lines, or plain lines where a person looks at a terminal.
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
    {
      level,
      base: { pid: process.pid },
      formatters: { level: (name) => ({ level: name }) },
      // RFC 3339.
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_PATHS, censor: '[cut]' },
    },
    process.stderr.isTTY
      ? { write: (line: string) => process.stderr.write(plainLine(line)) }
      : pino.destination({ fd: 2, sync: false }),
  );
}

/** `12:00:01 info  started Postgres port=5432`, from a line of JSON. */
export function plainLine(line: string): string {
  const { time, level, msg, pid: _, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const rest = Object.entries(fields).map(
    ([field, value]) => ` ${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${clock} ${String(level).padEnd(5)} ${typeof msg === 'string' ? msg : ''}${rest.join('')}\n`;
}
