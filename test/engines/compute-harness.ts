/**
 * What a contract case needs of an engine under test: orders with sensible defaults, waiting for states, reading logs.
 * Every id is used once, so cases may share one engine and run at the same time.
 */
import { setMaxListeners } from 'node:events';
import type {
  ComputeEngine,
  ExecEnd,
  ExecOrder,
  ExecStart,
  Execution,
  LogLine,
  LogQuery,
  OrderedProcess,
  WorkSpec,
  WorkState,
} from '../../src/engines/compute/contract/engine.js';

/** Nothing in these tests takes longer. */
const PATIENCE_MS = 100_000;

export const MiB = 1024 * 1024;

/** What the logs of one org may take together in engines under test. */
export const ORG_LOG_BYTES = 64 * MiB;

export const LIMITS: WorkSpec['limits'] = {
  milliCpu: 1000,
  memory: 256 * MiB,
  disk: 512 * MiB,
  pids: 64,
  logBytes: 4 * MiB,
};

let used = 0;

export type MainOrder = WorkSpec & { readonly main: OrderedProcess };

/** An order for `sh -c script`, or for a command; everything else as in a plain Job. */
export function order(command: string | readonly string[], more: Partial<MainOrder> = {}): MainOrder {
  used++;
  return {
    id: `case-${process.pid}-${used}.1`,
    image: 'svc/agent-tools',
    registryLogins: [],
    main: {
      name: 'main',
      command: typeof command === 'string' ? ['sh', '-c', command] : command,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    },
    sidecars: [],
    workingDir: '/workspace',
    secretFiles: new Map(),
    inputs: [],
    outputs: [],
    limits: LIMITS,
    labels: {},
    ...more,
  };
}

/** Work without a main program. */
export function box(more: Partial<WorkSpec> = {}): WorkSpec {
  const { main: _, ...rest } = order('true');
  return { ...rest, ...more };
}

/** Waits until the command has printed so much that the word is in it; the output goes on behind what brought it. */
export async function printed(
  execution: Execution,
  word: string,
): Promise<AsyncIterator<{ readonly data: Uint8Array }>> {
  const output = execution.output[Symbol.asyncIterator]();
  let text = '';
  while (!text.includes(word)) {
    const next = await output.next();
    if (next.done === true) throw new Error(`it ended without saying ${word}: ${text}`);
    text += Buffer.from(next.value.data).toString('latin1');
  }
  return output;
}

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly end: ExecEnd;
}

/** All output of a command, and its end. */
export async function taken(execution: Execution): Promise<Ran> {
  const text = { stdout: '', stderr: '' };
  for await (const { stream, data } of execution.output) text[stream] += Buffer.from(data).toString('latin1');
  return { ...text, end: await execution.ended };
}

export class Harness {
  engine: ComputeEngine;
  readonly lost: string[] = [];
  private readonly seen = new Map<string, WorkState[]>();
  private readonly waiting = new Set<() => void>();
  private watching = new AbortController();

  private constructor(engine: ComputeEngine) {
    this.engine = engine;
  }

  static async over(engine: ComputeEngine): Promise<Harness> {
    const harness = new Harness(engine);
    await harness.watch();
    return harness;
  }

  /** Goes on with another engine over the same runner, as after a restart of the service. */
  async reopen(open: () => Promise<ComputeEngine>): Promise<void> {
    this.watching.abort();
    await this.engine.close();
    this.engine = await open();
    await this.watch();
  }

  async close(): Promise<void> {
    this.watching.abort();
    await this.engine.close();
  }

  patience(): AbortSignal {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    setMaxListeners(0, signal);
    return signal;
  }

  start(work: WorkSpec): Promise<void> {
    return this.engine.start(work, this.patience());
  }

  /** Starts work that may be entered and waits until it can be. */
  async running<T extends WorkSpec>(work: T): Promise<T> {
    await this.start(work);
    await this.state(work.id, ({ phase }) => phase !== 'Preparing');
    return work;
  }

  tryExec(work: string, command: string | readonly string[], more: Partial<ExecOrder> = {}): Promise<ExecStart> {
    const words = typeof command === 'string' ? ['sh', '-c', command] : command;
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
    return this.engine.exec({ work, command: words, env, workingDir: '/workspace', ...more }, this.patience());
  }

  async exec(...asked: Parameters<Harness['tryExec']>): Promise<Execution> {
    const start = await this.tryExec(...asked);
    if (start.outcome !== 'Started') throw new Error(start.outcome);
    return start.execution;
  }

  /** Runs a command without input to its end. */
  async ran(...asked: Parameters<Harness['tryExec']>): Promise<Ran> {
    const execution = await this.exec(...asked);
    execution.endInput();
    return taken(execution);
  }

  /** Starts the work and waits for its end. */
  async run(work: WorkSpec): Promise<WorkState> {
    await this.start(work);
    return this.ended(work.id);
  }

  /** Runs the work and answers what it printed. */
  async output(work: WorkSpec, container = 'main'): Promise<string> {
    await this.run(work);
    return this.text(work.id, container);
  }

  ended(id: string): Promise<WorkState> {
    return this.state(id, (state) => state.endedAt !== undefined);
  }

  state(id: string, wanted: (state: WorkState) => boolean): Promise<WorkState> {
    return this.until(
      `the state of ${id}`,
      () => this.seen.get(id)?.findLast(wanted),
      () => `reported were ${JSON.stringify(this.reports(id))}`,
    );
  }

  /** Every state that was reported, in order. */
  reports(id: string): readonly WorkState[] {
    return this.seen.get(id) ?? [];
  }

  async text(id: string, container = 'main'): Promise<string> {
    const lines = await this.lines(id, { container });
    return Buffer.concat(lines.filter(({ stream }) => stream !== 'system').map(({ data }) => data)).toString('utf8');
  }

  async lines(id: string, query: Partial<LogQuery> = {}): Promise<LogLine[]> {
    const found: LogLine[] = [];
    const stream = this.engine.logs(id, { container: 'main', follow: false, ...query }, this.patience());
    for await (const line of stream) found.push(line);
    return found;
  }

  /** `seen` says what there was instead, for whoever reads of the failure. */
  async until<T>(what: string, get: () => T | undefined, seen?: () => string): Promise<T> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = get();
      if (found !== undefined) return found;
      const left = deadline - Date.now();
      if (left <= 0) {
        throw new Error(`waited in vain for ${what}${seen === undefined ? '' : `: ${seen()}`}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(wake, Math.min(left, 250));
        const { waiting } = this;
        function wake(): void {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        }
        waiting.add(wake);
      });
    }
  }

  private async watch(): Promise<void> {
    this.watching = new AbortController();
    await this.engine.watch(
      (state) => {
        const states = this.seen.get(state.id) ?? [];
        states.push(state);
        this.seen.set(state.id, states);
        for (const wake of this.waiting) wake();
      },
      (reason) => this.lost.push(reason),
      this.watching.signal,
    );
    for (const state of await this.engine.list(this.patience())) {
      const states = this.seen.get(state.id) ?? [];
      states.push(state);
      this.seen.set(state.id, states);
    }
  }
}
