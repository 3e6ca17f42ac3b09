/** A part of an answer of Model `echo` as it is sent: a frame of a stream, or the whole. */
export interface EchoFrame {
  readonly text: string;
  /** Tokens of the answer in it. */
  readonly tokens: number;
}

/** A frame of SSE. */
export function sse(data: unknown, tokens = 0, event?: string): EchoFrame {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return { text: `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`, tokens };
}

/** Texts of so many tokens each, with how many there are. */
export function* inGroups(tokens: readonly string[], size: number): Generator<readonly [text: string, tokens: number]> {
  for (let at = 0; at < tokens.length; at += size) {
    const group = tokens.slice(at, at + size);
    yield [group.join(''), group.length];
  }
}

/** What tells one answer from another: the same for the same request. */
export interface EchoIdentity {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Tokens of one frame of a stream. */
  readonly group: number;
}
