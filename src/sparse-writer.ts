/**
 * Writes bytes to a file one after another and leaves holes where they are zero, so that a file that was sparse takes no more of the disk
 * here than it did where it came from. Pieces are judged as they come. The file must be new and empty.
 */
import type { FileHandle } from 'node:fs/promises';

const ZEROS = Buffer.alloc(64 * 1024);

export class SparseWriter {
  private readonly file: FileHandle;
  private size = 0;
  /** Where what was written ends. */
  private written = 0;

  constructor(file: FileHandle) {
    this.file = file;
  }

  async write(chunk: Uint8Array): Promise<void> {
    const from = this.size;
    this.size += chunk.length;
    if (isHole(chunk)) return;
    for (let at = 0; at < chunk.length;) {
      at += (await this.file.write(chunk, at, chunk.length - at, from + at)).bytesWritten;
    }
    this.written = this.size;
  }

  /** To be called after the last piece: a hole at the end belongs to the file. */
  async end(): Promise<void> {
    if (this.written < this.size) await this.file.truncate(this.size);
  }
}

function isHole(chunk: Uint8Array): boolean {
  // Also a piece that is shorter than a block: how a stream is cut says nothing about its zeros.
  if (chunk[0] !== 0) return false;
  for (let at = 0; at < chunk.length; at += ZEROS.length) {
    const piece = chunk.subarray(at, at + ZEROS.length);
    if (!ZEROS.subarray(0, piece.length).equals(piece)) return false;
  }
  return true;
}
