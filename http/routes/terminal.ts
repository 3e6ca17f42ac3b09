/**
 * Serves `GET …/terminal`: a WebSocket with a program on a terminal at its other end. Binary frames are bytes, both ways; a text
 * frame is `{"resize":{"cols","rows"}}`. The program ends with the connection.
 *
 * The close says how it ended: 1000 with reason `{"exitCode":0}`; else 4000 + the HTTP status of a code, with reason
 * `{"reason","message"}`: 4400 a frame that is not understood, 4409 the epoch ended, 4422 the program could not be
 * executed; 4401, 4403 the key ended or no longer allows it. 1001: the service shuts down; 1009: a frame was too large.
 *
 * I10: a client that reads slowly pauses the program once MAX_UNSENT waits for it; one that sends faster than the program
 * reads is read no further once MAX_UNREAD waits, in which each frame counts FRAME_COST besides its bytes. Input is activity, a connection alone is none (`actors/work/commands.ts`).
 * Source: decisions, "Routes not shown", Terminal.
 */
import { WebSocket, type RawData } from 'ws';
import { z } from 'zod';
import { notRunning } from '../../actors/work/attach.js';
import type { Caller } from '../../actors/resource-service.js';
import type { Address } from '../../src/api/address.js';
import { ERROR_TABLE } from '../../src/api/errors/table.js';
import { refuse, type Refusal } from '../../src/api/refusal.js';
import { API_GROUP } from '../../src/brand.js';
import type { ExecEnd, Execution, TerminalSize } from '../../src/engines/compute/contract/engine.js';
import { commandLine } from '../../src/kinds/shapes/program.js';
import { addressOf, stillMay } from '../auth/authorise.js';
import { badParameter } from '../bad-parameter.js';
import type { Exchange } from '../exchange.js';
import type { SubresourceTarget } from '../target.js';
import { readInput } from '../input.js';
import { methodNotAllowed } from '../resources/dispatch.js';
import { refuseIdempotencyKey } from '../resources/options.js';
import type { ServerContext } from '../server-context.js';
import type { Stream } from '../streams.js';
import { acceptWebSocket, closeReason, demandWebSocket, heartbeat } from '../websocket.js';
import { readEpoch, readWait } from './epoch.js';

/** Browsers that send the key as a subprotocol need one that is answered. */
export const TERMINAL_PROTOCOL = `terminal.${API_GROUP}`;

const MAX_UNSENT = 256 * 1024;
const MAX_UNREAD = 64 * 1024;
/** What a frame that waits counts besides its bytes: it is kept by itself, also when it is empty. */
const FRAME_COST = 256;
/** Of columns and rows. */
const MAX_SIDE = 1_000;

/** A login shell: the better one, where the image has it. */
const SHELL = ['/bin/sh', '-c', 'test -x /bin/bash && exec /bin/bash -l; exec /bin/sh -l'];

const side = z.int().min(1).max(MAX_SIDE);
const control = z.strictObject({ resize: z.strictObject({ cols: side, rows: side }) });
const commandInput = z.strictObject({ command: commandLine });

export async function serveTerminal(
  x: Exchange,
  context: ServerContext,
  caller: Caller,
  target: SubresourceTarget,
): Promise<void> {
  const { kind, project, name, rest } = target;
  if (rest.length > 0) throw refuse('NotFound', 'terminal has no subpaths');
  if (x.method !== 'GET') throw methodNotAllowed(x, ['GET']);
  x.verb = 'terminal';
  const address = addressOf(caller, kind, project, name, 'exec');
  refuseIdempotencyKey(
    x,
    'a terminal takes no Idempotency-Key: each connection starts a program of its own',
    'Leave the header out.',
  );
  const epoch = readEpoch(x);
  const terminal: TerminalSize = { columns: readSide(x, 'cols', 80), rows: readSide(x, 'rows', 24) };
  const asked = x.query.getAll('command');
  const command = asked.length === 0 ? SHELL : readInput(commandInput, { command: asked }).command;
  demandWebSocket(x);

  let webSocket: WebSocket | undefined;
  let stream: Pick<Stream, 'sweep' | 'end'> = { end: () => x.cut() };
  const revoked = new AbortController();
  let checked: Promise<void> | undefined;
  const release = context.streams.add(x, {
    allows: stillMay(kind, project, name, 'exec'),
    revoke(why) {
      // First the program: nothing that is typed from now on reaches it.
      revoked.abort(why);
      if (webSocket === undefined) x.cut();
      else closeWith(webSocket, why.refusal);
    },
    doubt(until) {
      checked = until;
    },
    sweep: (now) => stream.sweep?.(now),
    end: () => stream.end(),
  });
  try {
    // Before the handshake, so that a refusal is a plain answer.
    const order = { command, env: { TERM: 'xterm-256color' }, terminal, epoch, waitMs: readWait(x) };
    const execution = await context.commands.start(address, order, AbortSignal.any([x.gone, revoked.signal]));
    if (x.abandoned || revoked.signal.aborted) return;
    webSocket = acceptWebSocket(x, [TERMINAL_PROTOCOL]);
    stream = heartbeat(webSocket);
    const mayType = async (): Promise<boolean> => {
      await checked;
      return !revoked.signal.aborted;
    };
    takeInput(webSocket, execution, mayType, revoked.signal);
    await sendOutput(webSocket, execution, address);
  } finally {
    release();
  }
}

function readSide(x: Exchange, name: string, usual: number): number {
  const text = x.query.get(name);
  if (text === null || text === '') return usual;
  if (!/^\d{1,4}$/.test(text) || Number(text) < 1 || Number(text) > MAX_SIDE) {
    throw badParameter(name, text, `must be a whole number from 1 to ${MAX_SIDE}`, `Ask for ${name}=${usual}.`);
  }
  return Number(text);
}

function takeInput(
  webSocket: WebSocket,
  execution: Execution,
  mayType: () => Promise<boolean>,
  revoked: AbortSignal,
): void {
  const type = inputOf(webSocket, execution, mayType);
  webSocket.on('message', (data, binary) => {
    if (revoked.aborted) return;
    const bytes = bytesOf(data);
    if (binary) type(bytes);
    else if (!takeControl(bytes, execution)) {
      const message = 'text frames are {"resize":{"cols","rows"}}';
      closeWith(webSocket, { code: 'BadRequest', message });
    }
  });
}

/** Writes one piece at a time to the program, each when its client may type; what comes meanwhile is the next piece. */
function inputOf(webSocket: WebSocket, execution: Execution, mayType: () => Promise<boolean>): (bytes: Buffer) => void {
  let waiting: Buffer[] = [];
  let waitingCost = 0;
  let writtenCost = 0;
  const slowDown = (): void => {
    const full = waitingCost + writtenCost > MAX_UNREAD;
    if (full === webSocket.isPaused) return;
    if (full) webSocket.pause();
    else webSocket.resume();
  };
  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const piece = waiting.length === 1 && waiting[0] ? waiting[0] : Buffer.concat(waiting);
      writtenCost = waitingCost;
      waiting = [];
      waitingCost = 0;
      if (!(await mayType())) return;
      await execution.write(piece);
      writtenCost = 0;
      slowDown();
    }
  };
  return (bytes) => {
    waiting.push(bytes);
    waitingCost += bytes.length + FRAME_COST;
    slowDown();
    if (writtenCost === 0 && waiting.length === 1) void write().catch(() => webSocket.terminate());
  };
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** False: it is none. */
function takeControl(bytes: Buffer, execution: Execution): boolean {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    return false;
  }
  const said = control.safeParse(value);
  if (!said.success) return false;
  const { cols, rows } = said.data.resize;
  execution.resize({ columns: cols, rows });
  return true;
}

/** Until the program has ended and the connection is closed. */
async function sendOutput(webSocket: WebSocket, execution: Execution, address: Address): Promise<void> {
  const closed = new Promise<void>((resolve) => webSocket.once('close', () => resolve()));
  for await (const { data } of execution.output) {
    if (webSocket.readyState !== WebSocket.OPEN) break;
    const full = webSocket.bufferedAmount > MAX_UNSENT;
    const sent = new Promise<void>((resolve) => webSocket.send(data, { binary: true }, () => resolve()));
    if (full) await sent;
  }
  const end = await execution.ended;
  if (webSocket.readyState === WebSocket.OPEN) closeAfter(webSocket, end, address);
  await closed;
}

function closeAfter(webSocket: WebSocket, end: ExecEnd, address: Address): void {
  switch (end.end) {
    case 'Exited': {
      const { exitCode } = end;
      const signal = exitCode > 128 ? { signal: exitCode - 128 } : {};
      webSocket.close(1000, closeReason({ exitCode, ...signal }));
      return;
    }
    case 'NotExecuted':
      // `reason` is the engine's own word, as in the causes of a command's refusal.
      webSocket.close(4422, closeReason({ reason: end.reason, message: end.message }));
      return;
    case 'WorkGone':
      closeWith(webSocket, notRunning(address, 'the epoch of this terminal has ended').refusal);
  }
}

function closeWith(webSocket: WebSocket, { code, message }: Pick<Refusal, 'code' | 'message'>): void {
  webSocket.close(4000 + ERROR_TABLE[code].status, closeReason({ reason: code, message }));
}
