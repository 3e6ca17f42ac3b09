/**
 * The service's log on standard error: JSON lines, or plain lines where a person looks at a terminal.
 * I11: nothing of an object's contents and no header is ever given to it; what looks like a credential is cut out anyway.
 */
import { pino, type Logger } from 'pino';
import { LogWriter } from './log-writer.js';

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

const STDERR = 2;

export interface OpenedLog {
  readonly log: Log;
  /** Lines that could not be written, since the start. */
  lostLines(): number;
}

export function openLog(level: string): OpenedLog {
  const writer = new LogWriter(STDERR);
  const log = pino(
    {
      level,
      base: { pid: process.pid },
      formatters: { level: (name) => ({ level: name }) },
      // RFC 3339.
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_PATHS, censor: '[cut]' },
    },
    process.stderr.isTTY ? { write: (line: string) => writer.write(plainLine(line)) } : writer,
  );
  return { log, lostLines: () => writer.lost };
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
