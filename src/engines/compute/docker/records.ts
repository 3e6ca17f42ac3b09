/**
 * The records that a box's first process prints (`box-hold.pl`), cut out of what the daemon kept of it. Hostile code in the box
 * may print anything: a line that is no record is dropped, and every field is bounded here. Pure.
 */
import { isPlainName } from '../shared/plain-name.js';

/** Why the box itself has ended the work. */
const END_REASONS = ['TimedOut', 'DiskFull', 'FundingUnknown'] as const;

export type BoxRecord =
  | { readonly kind: 'taken' | 'running'; readonly sequence: number; readonly at: number }
  | {
      readonly kind: 'failed';
      readonly sequence: number;
      readonly at: number;
      readonly reason: string;
      readonly exitCode: number | undefined;
      readonly message: string;
    }
  | {
      readonly kind: 'exited';
      readonly sequence: number;
      readonly at: number;
      readonly exitCode: number;
      readonly reason: (typeof END_REASONS)[number] | undefined;
      /** Something in the box was killed for want of memory. */
      readonly outOfMemory: boolean;
    }
  | {
      readonly kind: 'log';
      readonly name: string;
      readonly stream: 'stdout' | 'stderr';
      readonly at: number;
      /** Bytes of this process's output before these. */
      readonly before: number;
      readonly linesBefore: number;
      readonly data: Buffer;
    }
  | {
      readonly kind: 'process';
      readonly sequence: number;
      readonly id: string;
      readonly startedAt: number;
      readonly endedAt: number | undefined;
      readonly exitCode: number;
      readonly timedOut: boolean;
      readonly command: readonly string[];
    }
  | {
      readonly kind: 'output';
      readonly name: string;
      readonly what: OutputKind;
      readonly size: number;
      readonly path: string;
    }
  | { readonly kind: 'mark'; readonly sent: number }
  | { readonly kind: 'answer'; readonly request: string; readonly answer: string; readonly message: string };

const OUTPUT_KINDS = ['file', 'dir', 'empty', 'fifo', 'none', 'system', 'holds'] as const;
export type OutputKind = (typeof OUTPUT_KINDS)[number];

const REASONS = [
  'CommandNotFound',
  'CommandNotExecutable',
  'WorkingDirNotFound',
  'InitFailed',
  'SandboxFailed',
  'Stopped',
  'DiskFull',
  'TimedOut',
];

/** Bytes of one line; the program's are shorter. */
const MAX_LINE = 64 * 1024;

/** Cuts bytes into lines; one that is too long is dropped. */
export class RecordReader {
  private rest: Buffer = Buffer.alloc(0);

  *read(chunk: Buffer): Generator<BoxRecord> {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      const record = end - from > MAX_LINE ? undefined : parseRecord(bytes.toString('latin1', from, end));
      from = end + 1;
      if (record !== undefined) yield record;
    }
    this.rest = bytes.length - from > MAX_LINE ? Buffer.alloc(0) : bytes.subarray(from);
  }
}

export function parseRecord(line: string): BoxRecord | undefined {
  const [kind, ...fields] = line.split(' ');
  switch (kind) {
    case 'S':
      return stateRecord(fields);
    case 'L': {
      const [name = '', which, at, before, linesBefore, data = ''] = fields;
      if (!isPlainName(name) || (which !== 'o' && which !== 'e')) return undefined;
      const numbers = [at, before, linesBefore].map(count);
      if (numbers.some((number) => number === undefined)) return undefined;
      const [time = 0, bytes = 0, lines = 0] = numbers;
      const stream = which === 'o' ? 'stdout' : 'stderr';
      return { kind: 'log', name, stream, at: time, before: bytes, linesBefore: lines, data: decode(data) };
    }
    case 'P': {
      const [sequence, id = '', started, ended, code, late, command = ''] = fields;
      const numbers = [sequence, started, ended, code].map(count);
      if (!/^[a-z0-9]{1,32}$/.test(id) || numbers.some((number) => number === undefined)) return undefined;
      const [order = 0, startedAt = 0, endedAt = 0, exitCode = 0] = numbers;
      return {
        kind: 'process',
        sequence: order,
        id,
        startedAt,
        endedAt: endedAt === 0 ? undefined : endedAt,
        exitCode,
        timedOut: late === '1',
        command: command.split(',').map((word) => decode(word).toString('utf8')),
      };
    }
    case 'O': {
      const [name = '', what, size, path = ''] = fields;
      const known = OUTPUT_KINDS.find((one) => one === what);
      const bytes = count(size);
      if (known === undefined || bytes === undefined) return undefined;
      return {
        kind: 'output',
        name: decode(name).toString('utf8'),
        what: known,
        size: bytes,
        path: decode(path).toString('utf8'),
      };
    }
    case 'M': {
      const sent = count(fields[0]);
      return sent === undefined ? undefined : { kind: 'mark', sent };
    }
    case 'A': {
      const [request = '', answer = '', message = ''] = fields;
      return { kind: 'answer', request, answer, message: text(message) };
    }
    default:
      return undefined;
  }
}

function stateRecord(fields: readonly string[]): BoxRecord | undefined {
  const [order, time, what, ...rest] = fields;
  const sequence = count(order);
  const at = count(time);
  if (sequence === undefined || at === undefined) return undefined;
  switch (what) {
    case 'taken':
    case 'running':
      return { kind: what, sequence, at };
    case 'failed': {
      const [reason = '', code, message = ''] = rest;
      const known = REASONS.includes(reason) ? reason : 'SandboxFailed';
      return { kind: 'failed', sequence, at, reason: known, exitCode: exitCodeOf(code), message: text(message) };
    }
    case 'exited': {
      const [code, reason, short] = rest;
      const known = END_REASONS.find((one) => one === reason);
      const exitCode = exitCodeOf(code) ?? 255;
      return { kind: 'exited', sequence, at, exitCode, reason: known, outOfMemory: short === '1' };
    }
    default:
      return undefined;
  }
}

function exitCodeOf(field: string | undefined): number | undefined {
  const code = count(field);
  return code === undefined || code > 255 ? undefined : code;
}

function count(field: string | undefined): number | undefined {
  if (field === undefined || !/^\d{1,15}$/.test(field)) return undefined;
  return Number(field);
}

function decode(field: string): Buffer {
  return field === '-' ? Buffer.alloc(0) : Buffer.from(field, 'base64');
}

/** Words for people: bounded and without control characters. */
function text(field: string): string {
  return decode(field)
    .toString('utf8')
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, 500);
}
