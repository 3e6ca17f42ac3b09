/**
 * The proxy process (`../../egress/main.ts`) as its starter has it: started when it is first needed or before, given the listening socket of
 * each box, and started again with all of them when it dies. Its death ends connections and nothing else: the starter keeps every
 * listening socket, and what connects meanwhile waits in the kernel.
 *
 * Bounds (I10): HEAP_MB and DATA_MB of memory for all boxes together, whatever they do; beyond it the process dies and is started again,
 * after a pause that doubles up to RESTART_MS[1]. A wait for one of its answers ends after ANSWER_MS.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { WorkNetwork } from '../../contract/engine.js';
import type { FromProxy, Relayed, ToProxy } from './proxy-messages.js';
import type { Listening } from './proxy-listener.js';

const HEAP_MB = 192;
/** All writable memory of its own, threads' stacks and buffers included. */
const DATA_MB = 768;
const RESTART_MS = [50, 5_000] as const;
/** A process that lived so long begins with the shortest pause again. */
const STEADY_MS = 60_000;
const ANSWER_MS = 1_000;

export interface ProxiedBox {
  /** Ends what came through, and closes the listening socket. Resolves when all of it was logged, or in time. */
  close(): Promise<void>;
}

interface Box {
  readonly listener: Listening;
  readonly message: ToProxy;
  readonly log: (line: string) => void;
  closed: (() => void) | undefined;
}

export interface ProxySettings {
  /** The program; where it was built by default. */
  readonly program?: string | undefined;
  readonly report: (line: string) => void;
}

export class ProxyProcess {
  private readonly program: string;
  private readonly report: (line: string) => void;
  private readonly boxes = new Map<number, Box>();
  /** By directory. */
  private readonly relays = new Map<string, Relayed>();
  private readonly relayed = new Map<string, () => void>();
  private child: ChildProcess | undefined;
  private startedAt = 0;
  private pauseMs: number = RESTART_MS[0];
  private restart: NodeJS.Timeout | undefined;
  private last = 0;
  private over = false;

  constructor({ program, report }: ProxySettings) {
    this.program = program ?? builtProxy();
    this.report = report;
  }

  /** Its id, while it runs. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Before anybody waits for it. */
  start(): void {
    if (this.over || this.child !== undefined || this.restart !== undefined) return;
    this.startedAt = performance.now();
    const node = [process.execPath, `--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4', this.program];
    const child = spawn('/bin/sh', ['-c', LIMITS, 'sh', ...node], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', MALLOC_ARENA_MAX: '2' },
      cwd: '/',
    });
    this.child = child;
    child.once('error', (error) => this.gone(child, error.message));
    child.once('exit', (code, signal) => this.gone(child, String(signal ?? code)));
    child.on('message', (message) => this.hear(message as FromProxy));
    for (const [box, { message, listener }] of this.boxes) this.tell({ ...message, box } as ToProxy, listener);
    for (const [directory, relayed] of this.relays) this.tell({ op: 'relay', directory, ...relayed });
  }

  /** Takes the listening socket of a box over. */
  open(listener: Listening, network: WorkNetwork, allow: readonly string[], log: (line: string) => void): ProxiedBox {
    const box = ++this.last;
    const message: ToProxy = { op: 'open', box, network, allow };
    const entry: Box = { listener, message, log, closed: undefined };
    this.boxes.set(box, entry);
    if (this.child === undefined) this.start();
    else this.tell(message, listener);
    return { close: () => this.closeBox(box, entry) };
  }

  /** Serves the attempt API in this directory, which one box is shown. Resolves when it can connect, or in time. */
  async relay(directory: string, relayed: Relayed): Promise<void> {
    const before = this.relays.get(directory);
    if (this.over || (before?.service === relayed.service && before.work === relayed.work)) return;
    this.relays.set(directory, relayed);
    // Made here, so that a box can be shown it and starts, whatever becomes of the proxy; the socket in it is the proxy's.
    await mkdir(directory, { recursive: true, mode: 0o711 }).catch((error: Error) => this.report(error.message));
    const done = inTime((resolve) => this.relayed.set(directory, resolve));
    if (this.child === undefined) this.start();
    else this.tell({ op: 'relay', directory, ...relayed });
    await done;
    this.relayed.delete(directory);
  }

  unrelay(directory: string): void {
    if (this.relays.delete(directory)) this.tell({ op: 'unrelay', directory });
  }

  close(): void {
    this.over = true;
    clearTimeout(this.restart);
    this.child?.kill('SIGKILL');
    for (const { listener } of this.boxes.values()) listener.close();
  }

  private async closeBox(box: number, entry: Box): Promise<void> {
    if (this.boxes.get(box) !== entry) return;
    entry.listener.close();
    const done = inTime((resolve) => (entry.closed = resolve));
    if (this.child === undefined) entry.closed?.();
    else this.tell({ op: 'close', box });
    await done;
    this.boxes.delete(box);
  }

  private hear(message: FromProxy): void {
    switch (message.op) {
      case 'lines': {
        const box = this.boxes.get(message.box);
        for (const line of message.lines) box?.log(line);
        return;
      }
      case 'closed':
        return this.boxes.get(message.box)?.closed?.();
      case 'relayed':
        return this.relayed.get(message.directory)?.();
    }
  }

  private tell(message: ToProxy, listener?: Listening): void {
    // What it never gets it is told again by the next one.
    if (this.child?.connected === true) this.child.send(message, listener as never, undefined, () => undefined);
  }

  private gone(child: ChildProcess, how: string): void {
    if (this.child !== child) return;
    this.child = undefined;
    if (this.over) return;
    if (performance.now() - this.startedAt > STEADY_MS) this.pauseMs = RESTART_MS[0];
    this.report(`the proxy process ended (${how}), and all connections of boxes with it; it is started again`);
    for (const [box, { log, closed }] of this.boxes) {
      if (closed !== undefined) {
        this.boxes.delete(box);
        closed();
      } else log('[the proxy ended, and all connections with it; it is started again]');
    }
    const again = this.boxes.size > 0 || this.relays.size > 0;
    if (!again) return;
    this.restart = setTimeout(() => {
      this.restart = undefined;
      this.start();
    }, this.pauseMs);
    this.pauseMs = Math.min(this.pauseMs * 2, RESTART_MS[1]);
  }
}

/**
 * A limit of its own, first to go when the machine's memory ends, and behind the runner and the service for the processor: what boxes make
 * it do takes from boxes.
 */
const LIMITS = `ulimit -d ${DATA_MB * 1024}; echo 800 2>/dev/null >/proc/self/oom_score_adj; exec nice -n 5 "$@"`;

/** Where the build made it. */
export function builtProxy(): string {
  return fileURLToPath(new URL('main.js', import.meta.url));
}

async function inTime(begin: (resolve: () => void) => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ANSWER_MS);
    begin(resolve);
  });
  clearTimeout(timer);
}
