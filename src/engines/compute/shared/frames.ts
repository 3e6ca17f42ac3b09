/**
 * The frames on a connection that carries one command or one port (`PROTOCOL.md`): their types between service and runner and between runner
 * and agent, and how bytes are cut into frames.
 *
 * Output is paused by the socket: a reader that stops makes the other side stop reading the command's pipes. Input is paused by `room`
 * frames, since a runner that stopped reading would not see the client go. A client that sends more than the window loses the connection.
 */

import type { Writable } from 'node:stream';

export const FRAME = {
  /** Towards the command. */
  stdin: 0,
  endOfInput: 1,
  /** Its name, as `SIGTERM`. */
  signal: 2,
  /** Of its terminal: columns and rows, two bytes each, big endian. */
  resize: 3,
  /** Only from runner to agent: ends all that the command started. */
  kill: 4,
  /** From the command. */
  stdout: 16,
  stderr: 17,
  /** So many bytes of input went on: four bytes, big endian. */
  room: 18,
  /** The last. To the service JSON of ExecEnd; from an agent see `agent/session.ts`. */
  end: 19,
  /** Only from agent to runner: it is executed, or connected. */
  started: 20,
  /** Of a port, whose input may go on. */
  endOfOutput: 21,
} as const;

/** Bytes of one frame's content; a larger one is an error of the sender. */
export const MAX_FRAME = 64 * 1024;

/** Bytes of input that may be under way where the runner names no window; the second for connections of protocol 4 and later. */
export const STDIN_WINDOW = 128 * 1024;
export const WIDE_STDIN_WINDOW = 512 * 1024;
/** The one that a runner names: three processes hand input on, and a smaller window makes each wait for the others' turns. */
export const NAMED_STDIN_WINDOW = 2 * 1024 * 1024;

/** Frames of bytes, which nobody needs whole. */
export const IN_PIECES: ReadonlySet<number> = new Set([FRAME.stdin, FRAME.stdout, FRAME.stderr]);

const HEAD = 5;
/** Bytes of content that fill one read of the other side together with their head: every byte more would cost it a second one. */
export const PIECE = 64 * 1024 - HEAD;
/** Bytes up to which copying costs less than a second piece for the kernel. */
const SMALL = 4096;

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

/** Writes one frame without copying its bytes. False: the socket's buffer is full. */
export function writeFrame(socket: Writable, type: number, ...parts: readonly Uint8Array[]): boolean {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length < SMALL)
    return socket.write(encodeFrame(type, parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)));
  const head = Buffer.allocUnsafe(HEAD);
  head.writeUInt8(type, 0);
  head.writeUInt32BE(length, 1);
  socket.cork();
  let room = socket.write(head);
  for (const part of parts) room = socket.write(part);
  socket.uncork();
  return room;
}

export function roomFrame(bytes: number): Buffer {
  const data = Buffer.alloc(4);
  data.writeUInt32BE(bytes);
  return encodeFrame(FRAME.room, data);
}

/**
 * Cuts a stream of bytes into frames. Frames of the types that are taken in pieces come as their bytes come, each piece as a frame of
 * its own; of the others what waits for its rest is less than one frame.
 */
export class FrameReader {
  private rest: Buffer = Buffer.alloc(0);
  private readonly inPieces: ReadonlySet<number>;
  private readonly max: number;
  /** Type and missing bytes of a frame of which pieces were given. */
  private begun: { readonly type: number; missing: number } | undefined;

  /** `max`: bytes of a frame that is not taken in pieces. */
  constructor(inPieces: ReadonlySet<number> = new Set(), max: number = MAX_FRAME) {
    this.inPieces = inPieces;
    this.max = max;
  }

  /** Frames that this chunk completes; their bytes may be the chunk's own. Throws on a frame that is too long. */
  read(chunk: Buffer): Frame[] {
    let bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const frames: Frame[] = [];
    for (;;) {
      const { begun } = this;
      if (begun !== undefined) {
        if (bytes.length === 0) break;
        const piece = bytes.subarray(0, begun.missing);
        frames.push({ type: begun.type, data: piece });
        bytes = bytes.subarray(piece.length);
        begun.missing -= piece.length;
        if (begun.missing === 0) this.begun = undefined;
        continue;
      }
      if (bytes.length < HEAD) break;
      const type = bytes.readUInt8(0);
      const length = bytes.readUInt32BE(1);
      const inPieces = this.inPieces.has(type);
      if (length > (inPieces ? MAX_FRAME : this.max)) throw new Error('frame too long');
      if (inPieces && length > 0) {
        this.begun = { type, missing: length };
        bytes = bytes.subarray(HEAD);
        continue;
      }
      if (bytes.length < HEAD + length) break;
      frames.push({ type, data: bytes.subarray(HEAD, HEAD + length) });
      bytes = bytes.subarray(HEAD + length);
    }
    this.rest = bytes;
    return frames;
  }
}
