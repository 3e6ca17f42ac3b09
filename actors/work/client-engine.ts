/**
 * The compute engine as clients reach it. What the engine refuses becomes a refusal for the client here, for every route at once: commands,
 * terminals, processes, files, ports, logs and SSH. An engine whose runner ended or does not answer is Unavailable (503), never a fault of
 * the service (500). The engine's own words stay in its log: they name other work.
 */
import { refuse, RefusalError } from '../../src/api/refusal.js';
import { unknownOutcome } from '../../src/api/unknown-outcome.js';
import type { ComputeEngine, ExecOrder, ExecStart, LogLine } from '../../src/engines/compute/contract/engine.js';
import { ConnectionEnded, EngineRefusal } from '../../src/engines/compute/shared/refusal.js';

type Within = 'startProcess' | 'processes' | 'writeProcess' | 'signalProcess' | 'connect' | 'logs';

export interface ClientEngine extends Pick<ComputeEngine, Within> {
  /** `AnyTimes`: a command that does no harm when it is carried out again. */
  exec(order: ExecOrder, signal: AbortSignal, times?: 'Once' | 'AnyTimes'): Promise<ExecStart>;
}

export function clientEngine(engine: ComputeEngine): ClientEngine {
  return {
    exec: (order, signal, times = 'Once') =>
      engine.exec(order, signal).catch((error: unknown) => {
        throw times === 'Once' ? (perhapsRun(error) ?? forClient(error)) : forClient(error);
      }),
    startProcess: (order, signal) =>
      engine.startProcess(order, signal).catch((error: unknown) => {
        throw perhapsDone(error) ?? forClient(error);
      }),
    writeProcess: (work, id, input, signal) =>
      engine.writeProcess(work, id, input, signal).catch((error: unknown) => {
        throw perhapsDone(error) ?? forClient(error);
      }),
    processes: (work, signal) => engine.processes(work, signal).catch(rethrow),
    signalProcess: (work, id, name, signal) => engine.signalProcess(work, id, name, signal).catch(rethrow),
    connect: (work, port, signal) => engine.connect(work, port, signal).catch(rethrow),
    logs: (work, query, signal, pace) => linesOf(engine.logs(work, query, signal, pace)),
  };
}

async function* linesOf(lines: AsyncIterable<LogLine>): AsyncGenerator<LogLine> {
  try {
    yield* lines;
  } catch (error) {
    throw forClient(error);
  }
}

function rethrow(error: unknown): never {
  throw forClient(error);
}

/** The refusal for the client. Everything else as it is: the caller's own end, or a fault of ours. */
function forClient(error: unknown): unknown {
  if (!(error instanceof EngineRefusal)) return error;
  switch (error.code) {
    case 'Unavailable':
    case 'StaleEpoch':
      return refuse('Unavailable', `${NO_ANSWER}; nothing was carried out`, { retryAfterSeconds: 1 });
    case 'Busy':
      return refuse('TooManyRequests', `as much goes on in this work as may: ${error.message}`, {
        retryAfterSeconds: 1,
        fix: 'Wait until a command, process or connection has ended, or end one.',
      });
    case 'Invalid':
      return refuse('Invalid', error.message);
    case 'Failed':
      return error;
  }
}

const NO_ANSWER = 'the runner of this work does not answer: it has ended or is being replaced';

/**
 * The engine did not confirm the start of a command. Without Retry-After a client does not try again by itself: only its user knows whether
 * the command may run twice.
 */
function perhapsRun(error: unknown): RefusalError | undefined {
  if (!(error instanceof ConnectionEnded)) return undefined;
  return refuse('Unavailable', `${NO_ANSWER}; it is not known whether the command was started`, {
    retryAfterSeconds: 'Never',
    fix: 'Look at what the command has done, then decide whether to run it again.',
  });
}

function perhapsDone(error: unknown): RefusalError | undefined {
  if (!(error instanceof ConnectionEnded)) return undefined;
  return new RefusalError(unknownOutcome(NO_ANSWER));
}
