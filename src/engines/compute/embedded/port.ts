/** The service's end of a connection to a port inside: its frames as a stream of bytes whose two directions end apart. */
import { Duplex } from 'node:stream';
import type { PortStart } from '../contract/engine.js';
import type { ConnectAnswer } from '../../../runner/protocol/messages.js';
import { openStream, type RunnerAddress } from './open-stream.js';
import { SocketExecution, windowOf } from './exec.js';

/** Throws EngineRefusal, or the signal's reason when that comes first. */
export async function connectPort(
  runner: RunnerAddress,
  work: string,
  port: number,
  signal: AbortSignal,
): Promise<PortStart> {
  const carried = await openStream(runner, { op: 'connect', work, port }, signal);
  const answer = carried.answer as ConnectAnswer;
  if (answer.outcome === 'Connected') {
    return {
      outcome: 'Connected',
      stream: streamOf(new SocketExecution(carried.socket, carried.rest, windowOf(answer, runner), signal), signal),
    };
  }
  carried.socket.destroy();
  if (answer.outcome === 'Refused') return { outcome: 'Refused', message: answer.message };
  return { outcome: 'NotRunning' };
}

function streamOf(port: SocketExecution, signal: AbortSignal): Duplex {
  const why = (): Error => (signal.aborted ? (signal.reason as Error) : new Error('the work ended'));
  const output = port.output[Symbol.asyncIterator]();
  const stream = new Duplex({
    read() {
      output.next().then(
        ({ done, value }) => {
          if (done !== true) this.push(value.data);
          else if (port.gone) this.destroy(why());
          else this.push(null);
        },
        (error: Error) => this.destroy(error),
      );
    },
    write(chunk: Buffer, _encoding, done) {
      void taken(port, chunk, done);
    },
    final(done) {
      port.endInput();
      done();
    },
    destroy(error, done) {
      port.abandon();
      done(error);
    },
  });
  void port.ended.then(() => {
    if (port.gone && !stream.destroyed) stream.destroy(why());
  });
  return stream;
}

async function taken(port: SocketExecution, chunk: Buffer, done: () => void): Promise<void> {
  await port.write(chunk);
  done();
}
