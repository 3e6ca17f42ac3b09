/**
 * A place that serves models: an HTTP server that speaks one of the dialects, or the embedded `echo`. It carries bytes and knows nothing of
 * money, limits or clients. Never follows a redirect; sends no header of a client but those named here.
 */
import type { Readable } from 'node:stream';
import type { DialectName, UpstreamOperation } from './dialects/dialect.js';

export interface UpstreamCall {
  /** Whose request it is, for its share of the upstream; nothing of it is sent. */
  readonly tenant: string;
  readonly operation: UpstreamOperation;
  readonly stream: boolean;
  /** With the model's name as this upstream calls it: JSON, or a form with a file. */
  readonly body: UpstreamBody;
  /** `anthropic-version` and `anthropic-beta` of the client, for upstreams of that dialect. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted: the client has left, or the time is over. The upstream's work is given up at once. */
  readonly signal: AbortSignal;
}

export type UpstreamBody = Buffer | FormBody;

/** A form that is read as it is sent, anew for each try. */
export interface FormBody {
  /** With its boundary. */
  readonly contentType: string;
  /** Bytes. */
  readonly length: number;
  open(): Readable;
}

export type UpstreamAnswer =
  | {
      readonly outcome: 'Answered';
      readonly status: number;
      /** In lower case: `content-type`, `retry-after`, and the upstream's own request id. */
      readonly headers: Readonly<Record<string, string>>;
      /** Throws when the connection breaks or falls silent (`UpstreamBrokenError`). Leaving it early gives the connection up. */
      readonly body: AsyncIterable<Buffer>;
      /** Ends it without reading on. */
      discard(): void;
    }
  | UpstreamFailure;

export interface UpstreamFailure {
  readonly outcome: 'Failed';
  /**
   * Unreachable: there was no connection. Broken: it was closed before an answer began, or what began was none. Busy: as many requests
   * as it takes are under way.
   */
  readonly reason: 'Unreachable' | 'Broken' | 'TimedOut' | 'Busy' | 'Aborted';
  /** For the operator's log; names the upstream, no URL and no key. */
  readonly message: string;
}

export class UpstreamBrokenError extends Error {
  readonly reason: 'Broken' | 'TimedOut';
  constructor(reason: 'Broken' | 'TimedOut', message: string) {
    super(message);
    this.name = 'UpstreamBrokenError';
    this.reason = reason;
  }
}

export interface Upstream {
  readonly name: string;
  readonly dialects: ReadonlySet<DialectName>;
  /** It may be sent addresses of images and documents, which it fetches from where it stands. */
  readonly mayFetch: boolean;
  /** Shown to clients (`x-svc-upstream-class`). */
  readonly class: string;
  /** Requests that hold a place: under way, or given up and not yet off its connection. */
  readonly inFlight: number;
  send(call: UpstreamCall): Promise<UpstreamAnswer>;
  /** The text without the operator's key, should the upstream repeat it (I11). */
  conceal(text: string): string;
  /** Whether it answers, by a request that costs nothing. Absent: it always does. */
  probe?(signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}
