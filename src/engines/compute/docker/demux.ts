/**
 * Takes apart what the daemon sends of a container or an exec without a terminal: a head of eight bytes (stream, length),
 * then so many bytes. Only stdout is handed on: all that our program says is there.
 */
import { Transform, type TransformCallback } from 'node:stream';

const HEAD = 8;

export class Demux extends Transform {
  private head: Buffer = Buffer.alloc(0);
  private left = 0;
  private stdout = false;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.left > 0) {
        const piece = chunk.subarray(at, at + this.left);
        at += piece.length;
        this.left -= piece.length;
        if (this.stdout) this.push(piece);
        continue;
      }
      const need = HEAD - this.head.length;
      this.head = Buffer.concat([this.head, chunk.subarray(at, at + need)]);
      at += need;
      if (this.head.length < HEAD) break;
      this.stdout = this.head[0] === 1;
      this.left = this.head.readUInt32BE(4);
      this.head = Buffer.alloc(0);
    }
    done();
  }
}
