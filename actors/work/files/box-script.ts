/**
 * Runs one small program of ours inside: a shell script of programs that every image has, with what varies as its
 * arguments, never as its text. The kernel's namespaces resolve the paths, so `..` and symbolic links lead nowhere but inside.
 *
 * What it says is said by the box, where its owner's code can be anything: it is parsed as hostile and bounded here (I10).
 */
import { refuse } from '../../../src/api/refusal.js';
import type { ExecEnd, ExecOrder, Execution } from '../../../src/engines/compute/contract/engine.js';
import type { AttachedWork } from '../attach.js';
import { faultOf } from './faults.js';

/** Nothing of the owner's: no Secrets, and messages in the language that `faults.ts` reads. */
const ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
/** Kept of its standard error. */
const COMPLAINT_BYTES = 4 * 1024;

export interface BoxScript {
  /** Standard output as it comes. Ends with the script; `done` says how. */
  readonly output: AsyncGenerator<Uint8Array, void>;
  write(data: Uint8Array): Promise<void>;
  endInput(): void;
  /** True once its end is known: what is still written goes nowhere. */
  over(): boolean;
  /** Resolves when it has ended well (`fine`: further exit codes that are). Rejects with the refusal that names what went wrong. */
  done(fine?: readonly number[], fault?: typeof faultOf): Promise<void>;
}

/** Started: it ends with the signal and with the epoch. */
export async function runScript(
  attached: AttachedWork,
  script: string,
  args: readonly string[],
  signal: AbortSignal,
  { bulk = false }: Pick<ExecOrder, 'bulk'> = {},
): Promise<BoxScript> {
  const order = {
    work: attached.work,
    command: ['/bin/sh', '-c', script, 'sh', ...args],
    env: ENV,
    workingDir: '/',
    bulk,
  };
  const started = await attached.engine.exec(order, signal, 'AnyTimes');
  if (started.outcome === 'NotRunning') throw attached.over('its program has ended');
  const { execution } = started;
  const path = args[0] ?? '/';
  let end: ExecEnd | undefined;
  void execution.ended.then((is) => (end = is));
  const complaint: Uint8Array[] = [];
  return {
    output: outputOf(execution, complaint),
    write: (data) => execution.write(data),
    endInput: () => execution.endInput(),
    over: () => end !== undefined,
    async done(fine = [], fault = faultOf) {
      const is = await execution.ended;
      signal.throwIfAborted();
      switch (is.end) {
        case 'WorkGone':
          throw attached.over('it stopped meanwhile');
        case 'NotExecuted':
          throw refuse('Unsupported', `files need /bin/sh in the image: ${is.message}`);
        case 'Exited':
          if (is.exitCode === 0 || fine.includes(is.exitCode)) return;
          throw fault(is.exitCode, Buffer.concat(complaint).toString('utf8'), path);
      }
    },
  };
}

async function* outputOf(execution: Execution, complaint: Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  let left = COMPLAINT_BYTES;
  for await (const { stream, data } of execution.output) {
    if (stream === 'stdout') {
      yield data;
      continue;
    }
    if (left > 0) complaint.push(data.subarray(0, left));
    left -= data.length;
  }
}

/** All that it prints, when that is at most `limit` bytes; undefined when it is more, and it is to be ended by the signal. */
export async function collect(script: BoxScript, limit: number): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of script.output) {
    size += part.length;
    if (size > limit) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
