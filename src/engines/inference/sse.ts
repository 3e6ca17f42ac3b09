/** Server-sent events: frames out of bytes, however they are split. */

/** One event: its `event:` name if any, and its `data:` lines joined. Comments are no frames. */
export interface SseFrame {
  readonly event: string | undefined;
  readonly data: string;
}
