/**
 * The lines that a box's first process reads (`box-hold.pl`): words are hex, so that nothing in them can end a line or a field.
 */
import type { ExecOrder, OrderedProcess, ProcessOrder, WorkSpec } from '../contract/engine.js';

/** A timer's longest, in milliseconds. */
const MAX_LIMIT = 2 ** 40;

const hex = (text: string | Uint8Array): string => {
  const bytes =
    typeof text === 'string' ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  return bytes.length === 0 ? '-' : bytes.toString('hex');
};

/** `imageEnv` lies under what the order says. */
export function orderLines(spec: WorkSpec, epoch: number, imageEnv: Readonly<Record<string, string>>): string {
  const line = (word: string, ...fields: (string | number)[]): string => [word, epoch, ...fields].join(' ');
  const part = (kind: string, process: OrderedProcess): string => {
    const env = { ...imageEnv, ...process.env };
    return line('part', kind, process.name, milliseconds(process.timeoutSeconds), ...words(process.command, env));
  };
  return [
    line('dir', hex(spec.workingDir)),
    ...(spec.home === undefined ? [] : [line('home', hex(spec.home))]),
    ...[...spec.secretFiles].map(([name, bytes]) => line('secret', hex(name), hex(bytes))),
    ...spec.inputs.filter(({ writable }) => writable !== true).map(({ path }) => line('input', hex(path))),
    ...spec.outputs.map(({ name, path }) => line('output', hex(name), hex(path))),
    ...(spec.init === undefined ? [] : [part('init', spec.init)]),
    ...spec.sidecars.map((sidecar) => part('sidecar', sidecar)),
    ...(spec.main === undefined ? [] : [part('main', spec.main)]),
    ...(spec.fundedSeconds === undefined ? [] : [line('fund', milliseconds(spec.fundedSeconds))]),
    line('go'),
    '',
  ].join('\n');
}

export function stopLine(epoch: number, graceSeconds: number): string {
  return `stop ${epoch} ${Math.max(0, Math.min(MAX_LIMIT, Math.round(graceSeconds * 1000)))}\n`;
}

/** The work may go on for so long; undefined: without end. */
export function fundLine(epoch: number, seconds: number | undefined): string {
  return `fund ${epoch} ${milliseconds(seconds)}\n`;
}

/** The engine itself ends the work. */
export function endLine(epoch: number, reason: 'DiskFull'): string {
  return `end ${epoch} ${reason}\n`;
}

export function startLine(epoch: number, request: string, order: ProcessOrder): string {
  const { id, timeoutSeconds, workingDir, command, env } = order;
  const fields = [request, id, milliseconds(timeoutSeconds), hex(workingDir), ...words(command, env)];
  return `start ${epoch} ${fields.join(' ')}\n`;
}

export function writeLine(epoch: number, request: string, id: string, data: Uint8Array, end: boolean): string {
  return `write ${epoch} ${request} ${id} ${end ? 1 : 0} ${hex(data)}\n`;
}

export function signalLine(epoch: number, request: string, id: string, number: number): string {
  return `signal ${epoch} ${request} ${id} ${number}\n`;
}

/** The first frame to a command's own process. */
export function execWords(order: ExecOrder): string {
  const { timeoutSeconds, terminal, workingDir, command, env } = order;
  const size = terminal === undefined ? '-' : `${terminal.columns}x${terminal.rows}`;
  return ['run', milliseconds(timeoutSeconds), size, hex(workingDir), ...words(command, env)].join(' ');
}

function words(command: readonly string[], env: Readonly<Record<string, string>>): (string | number)[] {
  const pairs = Object.entries(env).flat();
  return [command.length, ...command.map(hex), pairs.length, ...pairs.map(hex)];
}

function milliseconds(seconds: number | undefined): number {
  return seconds === undefined ? 0 : Math.min(MAX_LIMIT, Math.max(1, Math.round(seconds * 1000)));
}

/** Whether it is there, and not ending. */
export function lookLine(epoch: number, request: string): string {
  return `look ${epoch} ${request}\n`;
}

/** So many bytes of records were read: the box may print more. */
export function readLine(epoch: number, sent: number): string {
  return `read ${epoch} ${sent}\n`;
}

/** A line of the log `network`, which the box says so that the daemon keeps it with the others. */
export function noteLine(epoch: number, line: string): string {
  return `note ${epoch} ${hex(line)}\n`;
}
