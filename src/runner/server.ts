/**
 * Serves the runner's socket: connections, the hello, requests in and answers and events out.
 *
 * A connection is `greeting` until its hello, then `open` with a version and an epoch, until it asks for a command or port, which it
 * then carries (`exec-session.ts`). Bounds (I10): a line of MAX_LINE bytes; a
 * client that does not read is cut off at MAX_UNSENT (it comes back and gets everything as a list); state events of one id that
 * wait for the next tick replace each other, since a report is the whole state.
 */
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { EngineFacts, ExecEnd, WorkState } from '../engines/compute/contract/engine.js';
import { isCommandSignal } from '../engines/compute/shared/signals.js';
import { ExecSession } from './exec-session.js';
import { LineReader } from './protocol/lines.js';
import { NAMED_STDIN_WINDOW } from '../engines/compute/shared/frames.js';
import {
  AGENT_VERSION,
  MAX_LINE,
  Refused,
  type Answer,
  type ConnectAnswer,
  type Event,
  type ExecAnswer,
  type Hello,
  type Request,
  type Welcome,
} from './protocol/messages.js';
import type { Works } from './works.js';

/** Bytes that a client may leave unread. */
const MAX_UNSENT = 64 * 1024 * 1024;
/** A state change travels at once, and those of so many milliseconds after it together. */
const TICK_MS = 3;
/** Operations that a client of an earlier version does not know. */
const SINCE_AGENT: ReadonlySet<string> = new Set(['startProcess', 'processes', 'writeProcess', 'signalProcess']);

export interface ServerDeps {
  readonly works: Works;
  readonly runner: string;
  /** Versions, best first. */
  readonly protocol: readonly number[];
  readonly facts: () => EngineFacts;
  /** Looked at before a service is greeted and before work starts: ends this process when its directories are no longer its own. */
  readonly checkDirectories: () => void;
  readonly report: (line: string) => void;
}

interface Client {
  readonly socket: Socket;
  readonly reader: LineReader;
  session:
    | { readonly kind: 'greeting' }
    | { readonly kind: 'open'; readonly version: number; readonly epoch: number }
    | { readonly kind: 'exec'; readonly exec: ExecSession };
  watching: boolean;
  readonly changed: Map<string, WorkState>;
  readonly following: Set<string>;
}

export class RunnerServer {
  private readonly deps: ServerDeps;
  private readonly clients = new Set<Client>();
  private readonly server: Server;
  private tick: NodeJS.Timeout | undefined;
  /** Bytes of connections that are closed. */
  private relayedBefore = 0;

  constructor(deps: ServerDeps) {
    this.deps = deps;
    this.server = createServer((socket) => this.accept(socket));
  }

  /** The caller holds the runner's lock, so a socket that is there belongs to nobody. */
  listen(path: string): Promise<void> {
    rmSync(path, { force: true });
    return new Promise((done, failed) => {
      this.server.once('error', failed);
      this.server.listen(path, () => {
        // The directory is closed to others already; this is a second check.
        chmodSync(path, 0o600);
        done();
      });
    });
  }

  /** Takes no more connections and removes the socket. */
  close(): Promise<void> {
    return new Promise((done) => this.server.close(() => done()));
  }

  get connections(): number {
    return this.clients.size;
  }

  /** Bytes both ways since the start. */
  get relayed(): number {
    let bytes = this.relayedBefore;
    for (const { socket } of this.clients) bytes += trafficOf(socket);
    return bytes;
  }

  /** Some command's data goes past this runner. */
  get transferring(): boolean {
    for (const { session } of this.clients) if (session.kind === 'exec' && session.exec.dataElsewhere) return true;
    return false;
  }

  onState(state: WorkState): void {
    for (const client of this.clients) {
      if (!client.watching) continue;
      client.changed.set(state.id, state);
    }
    if (this.tick === undefined) this.sendChanges();
    if (state.endedAt !== undefined) this.endFollows(state.id);
  }

  onLogGrown(work: string, container: string): void {
    const key = `${work}/${container}`;
    for (const client of this.clients) {
      if (client.following.has(key)) this.send(client, { event: 'grown', work, container, ended: false });
    }
  }

  onLogEnded(work: string, container: string): void {
    for (const client of this.clients) {
      if (!client.following.delete(`${work}/${container}`)) continue;
      this.send(client, { event: 'grown', work, container, ended: true });
    }
  }

  /** Also of containers that never began. */
  private endFollows(work: string): void {
    for (const client of this.clients) {
      for (const key of [...client.following]) {
        if (!key.startsWith(`${work}/`)) continue;
        client.following.delete(key);
        this.send(client, { event: 'grown', work, container: key.slice(work.length + 1), ended: true });
      }
    }
  }

  private sendChanges(): void {
    this.tick = undefined;
    let sent = false;
    for (const client of this.clients) {
      if (client.changed.size === 0 || client.session.kind !== 'open') continue;
      this.send(client, { event: 'states', states: [...client.changed.values()] });
      client.changed.clear();
      sent = true;
    }
    if (sent) this.tick = setTimeout(() => this.sendChanges(), TICK_MS);
  }

  private accept(socket: Socket): void {
    const client: Client = {
      socket,
      reader: new LineReader(MAX_LINE),
      session: { kind: 'greeting' },
      watching: false,
      changed: new Map(),
      following: new Set(),
    };
    this.clients.add(client);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.clients.delete(client);
      this.relayedBefore += trafficOf(socket);
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        if (client.session.kind === 'exec') client.session.exec.read(chunk);
        else for (const message of client.reader.read(chunk)) this.receive(client, message);
      } catch (error) {
        this.deps.report(`connection ended: ${(error as Error).message}`);
        socket.destroy();
      }
    });
  }

  private receive(client: Client, message: unknown): void {
    if (client.session.kind === 'greeting') {
      this.greet(client, message);
      return;
    }
    if (client.session.kind === 'exec') throw new Error('a request after the last');
    if (typeof message !== 'object' || message === null || !('id' in message)) throw new Error('not a request');
    const request = message as Request;
    const { version, epoch } = client.session;
    if (request.op === 'exec') {
      void this.exec(client, epoch, request);
      return;
    }
    if (request.op === 'connect' && version >= AGENT_VERSION) {
      void this.connect(client, epoch, request);
      return;
    }
    void this.answer(client, request).then((answer) => this.send(client, answer));
  }

  private greet(client: Client, message: unknown): void {
    const hello = (message as Partial<Hello>).hello;
    const version = this.deps.protocol.find((known) => hello?.versions.includes(known) === true);
    if (hello === undefined || version === undefined || !Number.isSafeInteger(hello.epoch)) {
      this.deps.report('connection ended: no common protocol version');
      client.socket.destroy();
      return;
    }
    this.deps.checkDirectories();
    client.session = { kind: 'open', version, epoch: hello.epoch };
    const welcome: Welcome = {
      welcome: { version, runner: this.deps.runner, pid: process.pid, epoch: this.deps.works.epoch },
    };
    client.socket.write(`${JSON.stringify(welcome)}\n`);
  }

  /** The answer is sent in the same turn in which the command begins, so that it comes before every frame. */
  private async exec(client: Client, epoch: number, request: Request & { readonly op: 'exec' }): Promise<void> {
    const exec = new ExecSession(client.socket);
    client.session = { kind: 'exec', exec };
    const answer = await this.answered(request, async () => {
      await this.deps.works.fence(epoch);
      const command = client.socket.destroyed ? undefined : this.deps.works.exec(request.order, exec);
      if (command === undefined) return { outcome: 'NotRunning' } satisfies ExecAnswer;
      this.send(client, {
        id: request.id,
        ok: { outcome: 'Started', window: NAMED_STDIN_WINDOW, data: command.data } satisfies ExecAnswer,
      });
      exec.begin(command.session, command.ended);
      exec.dataElsewhere = command.data !== undefined;
      return undefined;
    });
    if ('ok' in answer && answer.ok === null) return;
    this.send(client, answer);
    client.socket.end();
  }

  /** Answered as connected before every frame; what never was has no frames. */
  private async connect(client: Client, epoch: number, request: Request & { readonly op: 'connect' }): Promise<void> {
    const exec = new ExecSession(client.socket);
    client.session = { kind: 'exec', exec };
    const answer = await this.answered(request, async () => {
      await this.deps.works.fence(epoch);
      const port = client.socket.destroyed ? undefined : this.deps.works.connect(request.work, request.port, exec);
      if (port === undefined) return { outcome: 'NotRunning' } satisfies ConnectAnswer;
      const ended = port.ended.then((end): ExecEnd =>
        end.end === 'Exited' ? { end: 'Exited', exitCode: 0, timedOut: false } : { end: 'WorkGone' },
      );
      exec.begin(port, ended, () =>
        this.send(client, {
          id: request.id,
          ok: { outcome: 'Connected', window: NAMED_STDIN_WINDOW } satisfies ConnectAnswer,
        }),
      );
      if (await port.started) return undefined;
      const end = await port.ended;
      if (end.end === 'NotExecuted' && end.reason === 'Refused')
        return { outcome: 'Refused', message: end.message } satisfies ConnectAnswer;
      if (end.end === 'NotExecuted') throw new Refused('Failed', end.message);
      return { outcome: 'NotRunning' } satisfies ConnectAnswer;
    });
    if ('ok' in answer && answer.ok === null) return;
    this.send(client, answer);
    client.socket.end();
  }

  private answer(client: Client, request: Request): Promise<Answer> {
    return this.answered(request, () => this.carryOut(client, request));
  }

  private async answered(request: Request, carryOut: () => Promise<unknown>): Promise<Answer> {
    try {
      return { id: request.id, ok: (await carryOut()) ?? null };
    } catch (error) {
      if (error instanceof Refused) return { id: request.id, refused: { code: error.code, message: error.message } };
      // Never the request itself: it may hold secrets (I11).
      this.deps.report(`${request.op} failed: ${(error as Error).message}`);
      return { id: request.id, refused: { code: 'Failed', message: (error as Error).message } };
    }
  }

  private async carryOut(client: Client, request: Request): Promise<unknown> {
    const { works } = this.deps;
    const { epoch, version } = client.session.kind === 'open' ? client.session : { epoch: -1, version: 0 };
    if (version < AGENT_VERSION && SINCE_AGENT.has(request.op)) throw new Refused('Invalid', 'unknown operation');
    switch (request.op) {
      case 'facts':
        return this.deps.facts();
      case 'list':
        return works.list();
      case 'watch':
        client.watching = true;
        return works.list();
      case 'start':
        this.deps.checkDirectories();
        await works.fence(epoch);
        return works.start(request.order);
      case 'stop':
        await works.fence(epoch);
        return works.stop(request.work, request.graceSeconds);
      case 'fund':
        await works.fence(epoch);
        return works.fund(request.times);
      case 'remove':
        await works.fence(epoch);
        return works.remove(request.work, request.logs);
      case 'follow':
        return { mayGrow: this.follow(client, request.work, request.container) };
      case 'unfollow':
        client.following.delete(`${request.work}/${request.container}`);
        return null;
      case 'startProcess':
        await works.fence(epoch);
        return works.startProcess(request.order);
      case 'processes':
        return works.processes(request.work)?.list();
      case 'writeProcess': {
        await works.fence(epoch);
        const data = Buffer.from(request.data, 'base64');
        return works.processes(request.work)?.write(request.process, data, request.end) ?? 'Gone';
      }
      case 'signalProcess':
        await works.fence(epoch);
        if (!isCommandSignal(request.signal)) throw new Refused('Invalid', 'unknown signal');
        return works.processes(request.work)?.signal(request.process, request.signal) ?? 'Gone';
      default:
        throw new Refused('Invalid', 'unknown operation');
    }
  }

  private follow(client: Client, work: string, container: string): boolean {
    if (!this.deps.works.mayGrow(work, container)) return false;
    client.following.add(`${work}/${container}`);
    return true;
  }

  private send(client: Client, message: Answer | Event): void {
    if (client.socket.destroyed) return;
    client.socket.write(`${JSON.stringify(message)}\n`);
    if (client.socket.writableLength > MAX_UNSENT) client.socket.destroy();
  }
}

function trafficOf(socket: Socket): number {
  return socket.bytesRead + socket.bytesWritten;
}
