/**
 * Owns the frames on a connection that carries one command: a byte of type, four bytes of length (big endian), then so many bytes.
 *
 * Output is paused by the socket: a client that does not read stops the runner's reading of the command's pipes. Input is
 * paused by words, since a runner that stopped reading would not see the client go: the client sends at most STDIN_WINDOW bytes
 * that the runner has not yet said (`room`) to be in the command's pipe; one who sends more loses the connection.
 */

export const FRAME = {
  /** Client to runner. */
  stdin: 0,
  endOfInput: 1,
  /** Its name, as `SIGTERM`. */
  signal: 2,
  /** Runner to client. */
  stdout: 16,
  stderr: 17,
  /** So many bytes of input went on: four bytes, big endian. */
  room: 18,
  /** JSON of ExecEnd; the last. */
  end: 19,
} as const;

/** Bytes of one frame's content; a larger one is an error of the sender. */
export const MAX_FRAME = 64 * 1024;

/** Bytes of input that may be under way. */
export const STDIN_WINDOW = 128 * 1024;

const HEAD = 5;

export interface Frame {
  readonly type: number;
  readonly data: Buffer;
}

export function encodeFrame(type: number, data: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD + data.length);
  frame.writeUInt8(type, 0);
  frame.writeUInt32BE(data.length, 1);
  frame.set(data, HEAD);
  return frame;
}

export function roomFrame(bytes: number): Buffer {
  const data = Buffer.alloc(4);
  data.writeUInt32BE(bytes);
  return encodeFrame(FRAME.room, data);
}

/** Cuts a stream of bytes into frames. What waits for its rest is less than one frame. */
export class FrameReader {
  private rest: Buffer = Buffer.alloc(0);

  /** Frames that this chunk completes; their bytes may be the chunk's own. Throws on a frame that is too long. */
  read(chunk: Buffer): Frame[] {
    let bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const frames: Frame[] = [];
    while (bytes.length >= HEAD) {
      const length = bytes.readUInt32BE(1);
      if (length > MAX_FRAME) throw new Error('frame too long');
      if (bytes.length < HEAD + length) break;
      frames.push({ type: bytes.readUInt8(0), data: bytes.subarray(HEAD, HEAD + length) });
      bytes = bytes.subarray(HEAD + length);
    }
    this.rest = bytes;
    return frames;
  }
}
