/**
 * Cuts a byte stream into lines of JSON. A line that is longer than the bound, or not JSON, is an error of
 * the sender: the caller ends the connection. Bytes are kept in pieces until a newline comes, so a long line costs linear time.
 */
export class LineReader {
  private readonly pieces: Buffer[] = [];
  private size = 0;
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  /** Messages that this chunk completes. Throws on a line that is too long or not JSON. */
  read(chunk: Buffer): unknown[] {
    const messages: unknown[] = [];
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(10, from);
      if (end < 0) break;
      this.pieces.push(chunk.subarray(from, end));
      const line = this.pieces.length === 1 ? (this.pieces[0] as Buffer) : Buffer.concat(this.pieces);
      this.pieces.length = 0;
      this.size = 0;
      from = end + 1;
      if (line.length > this.max) throw new Error('line too long');
      if (line.length > 0) messages.push(JSON.parse(line.toString('utf8')));
    }
    if (from < chunk.length) {
      this.pieces.push(chunk.subarray(from));
      this.size += chunk.length - from;
      if (this.size > this.max) throw new Error('line too long');
    }
    return messages;
  }
}
