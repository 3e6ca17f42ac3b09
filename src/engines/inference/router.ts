/** Interface: which upstreams serve a model, in which order they are tried, and how they stand. */
import type { DialectName, UpstreamError, UpstreamOperation } from './dialects/dialect.js';
import type { ModelForm } from './dialects/translate.js';
import type { UpstreamAnswer, UpstreamBody, UpstreamCall } from './upstream.js';

/** Tokens of a text by the model's own tokenizer. */
export type CountTokens = (text: string) => number;

export interface ModelRoutes {
  /** Dialects that some route of the model speaks. */
  readonly dialects: ReadonlySet<DialectName>;
  /** And of those, of routes that may be sent addresses of images. */
  readonly fetching: ReadonlySet<DialectName>;
  /** Where the operator has named a tokenizer. */
  readonly countTokens: CountTokens | undefined;
}

/** How a request may be said to upstreams of one dialect. */
export interface Way {
  readonly dialect: DialectName;
  readonly operation: UpstreamOperation;
  /** The body for an upstream that calls the model so; a promise of a large one, which takes turns of the event loop. Undefined: it cannot be said there. */
  encode(as: string, form: ModelForm): UpstreamBody | undefined | Promise<UpstreamBody | undefined>;
}

export interface ForwardCall extends Omit<UpstreamCall, 'body' | 'operation'> {
  /** Name of the Model. */
  readonly model: string;
  /** Those before others are tried first. */
  readonly ways: readonly Way[];
  /** It names images by their addresses: only routes that may fetch are tried. */
  readonly fetches: boolean;
  /** What the dialect reads out of a refusal's body. */
  readError(body: unknown): UpstreamError | undefined;
}

export type Forwarded =
  /** The first byte of an answer with a 2xx is there. */
  | (Extract<UpstreamAnswer, { outcome: 'Answered' }> & {
      /** Takes the operator's key out of what the upstream says. */
      conceal(text: string): string;
      readonly upstream: string;
      /** How it was asked, and so what it answers in. */
      readonly dialect: DialectName;
      readonly operation: UpstreamOperation;
      readonly class: string;
      /** How many routes were tried before. */
      readonly retries: number;
      /** To be said once: how the answer ended, for the health of the route. */
      ended(how: 'Whole' | 'Broken' | 'Left'): void;
    })
  /** The upstream has refused this very request; another one would too. */
  | { readonly outcome: 'Refused'; readonly status: number; readonly error: UpstreamError; readonly class: string }
  /** Every route is down, busy, or has just failed. `retryAfterSeconds`: when one may be up again, at most 60. */
  | {
      readonly outcome: 'Failed';
      readonly reason: 'Unavailable' | 'Overloaded' | 'TimedOut' | 'Aborted';
      readonly retryAfterSeconds: number | undefined;
    };

export interface ModelStanding {
  /** Name of the Model. */
  readonly model: string;
  readonly available: boolean;
  /** For people, without names of hosts. */
  readonly message: string;
}

export interface InferenceRouter {
  /** Names of Models that some upstream serves. */
  readonly models: ReadonlySet<string>;
  routesOf(model: string): ModelRoutes | undefined;
  /** Tries the routes one after the other until one has answered; at most three. Never rejects. */
  forward(call: ForwardCall): Promise<Forwarded>;
  standing(): readonly ModelStanding[];
  /** Figures for metrics, by upstream. */
  upstreams(): readonly { readonly name: string; readonly inFlight: number; readonly up: boolean }[];
  close(): Promise<void>;
}
