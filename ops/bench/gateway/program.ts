/** Starts the servers that the gateway is measured with and against, each in a process of its own, and ends them. */
import { fork, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { residentMiB, secondsBelow, type ProcessorSeconds } from '../service.js';
import { opened } from './child.js';

const START_MS = 10_000;
const STOP_MS = 5_000;

export interface Program {
  readonly pid: number;
  readonly port: number;
  /** Processor time used so far; all of it is `service`. */
  processorSeconds(): Promise<ProcessorSeconds>;
  /** VmRSS in MiB. */
  residentMiB(): Promise<number>;
  stop(): Promise<void>;
}

/** Of `child.ts`; `upstream`: the port of what it passes requests on to. */
export async function startProgram(name: 'upstream' | 'bare-proxy', upstream?: number): Promise<Program> {
  const child = fork(fileURLToPath(new URL(`${name}.js`, import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.send(upstream === undefined ? {} : { upstream });
  try {
    const port = await portOf(child, name);
    return programOf(child, port, () => child.disconnect());
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

function portOf(child: ChildProcess, name: string): Promise<number> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`the ${name} did not open within ${START_MS} ms`)), START_MS);
    const ended = (): void => {
      clearTimeout(timer);
      fail(new Error(`the ${name} has ended`));
    };
    child.once('exit', ended);
    child.once('message', (message) => {
      clearTimeout(timer);
      child.off('exit', ended);
      done(opened.parse(message).port);
    });
  });
}

/** `end` asks it to; it is killed when that does not help. */
export function programOf(child: ChildProcess, port: number, end: () => void): Program {
  const { pid = 0 } = child;
  return {
    pid,
    port,
    processorSeconds: async () => ({ service: await secondsBelow(pid), postgres: 0, work: 0 }),
    residentMiB: () => residentMiB(pid),
    async stop() {
      if (hasEnded(child)) return;
      const exited = new Promise<void>((done) => child.once('exit', () => done()));
      end();
      await Promise.race([exited, sleep(STOP_MS, undefined, { ref: false })]);
      if (hasEnded(child)) return;
      child.kill('SIGKILL');
      await exited;
    },
  };
}

export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
