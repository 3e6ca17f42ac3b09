/** The types of frames between the service and a command's own process in a container (`../shared/PROTOCOL.md`), and how that process is started. */
import type { Duplex, Readable } from 'node:stream';
import type { Container } from 'dockerode';
import { encodeFrame } from '../shared/frames.js';
import { twoWays } from './daemon.js';
import { BOX_RUNTIME_COMMAND } from './box-runtime-volume.js';
import { Demux } from './demux.js';

export const BOX_FRAME = {
  /** To the box. */
  input: 0,
  /** Both ways: no more of it comes. */
  end: 1,
  /** Number of the signal. */
  signal: 2,
  /** `<columns>x<rows>`. */
  size: 3,
  order: 9,
  /** From the box. */
  stdout: 16,
  stderr: 17,
  /** So many bytes of input went on. */
  room: 18,
  /** JSON of ExecEnd; the last. */
  ended: 19,
  refused: 20,
  /** The port is reached; the command is executed. */
  connected: 21,
} as const;

export interface AttachedBox {
  /** Takes frames. Destroying it ends the command or the connection to the port. */
  readonly stream: Duplex;
  /** Frames, as they come. */
  readonly output: Readable;
}

/** Starts one more process of ours in the container and gives it its order. Throws what the daemon answers (409: it does not run). */
export async function attachBox(container: Container, order: string, signal: AbortSignal): Promise<AttachedBox> {
  const exec = await container.exec({
    Cmd: [...BOX_RUNTIME_COMMAND, 'exec'],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    User: '0:0',
    WorkingDir: '/',
    abortSignal: signal,
  });
  const start = (abortSignal: AbortSignal): Promise<Duplex> => exec.start({ hijack: true, stdin: true, abortSignal });
  const stream = await twoWays(start, signal);
  // Its end is told by `close`.
  stream.on('error', () => undefined);
  stream.write(encodeFrame(BOX_FRAME.order, Buffer.from(order)));
  const output = new Demux();
  stream.pipe(output);
  if (stream.closed) output.end();
  else stream.once('close', () => output.end());
  return { stream, output };
}
