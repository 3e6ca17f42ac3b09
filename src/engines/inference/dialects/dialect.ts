/**
 * What the gateway knows of a dialect, the wire form in which clients and upstreams speak: how to read a request as far as its price, its limits and
 * its route depend on it, how to read what an answer used, how to follow a stream, and how errors look. Everything here is pure. Each
 * dialect is a folder that exports one `Dialect`.
 */
import type { ErrorCode } from '../../../api/errors/codes.js';
import type { Usage } from '../../../money/model-prices.js';
import type { SseFrame } from '../sse.js';

export const DIALECTS = ['OpenAI', 'Anthropic'] as const;
export type DialectName = (typeof DIALECTS)[number];

/** Routes below a base URL that are served. `Model.spec.operations` names them in the same form. */
export const OPERATIONS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/responses',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Routes whose bodies or answers are sound. OpenAI's dialect alone has them. */
export const AUDIO = ['/v1/audio/transcriptions', '/v1/audio/speech'] as const;
export type AudioOperation = (typeof AUDIO)[number];

/** Routes of upstreams: what others ask for is asked for there in one of these. */
export type TextOperation = Exclude<Operation, '/v1/responses'>;
export type UpstreamOperation = TextOperation | AudioOperation;

export function isAudio(operation: string): operation is AudioOperation {
  return (AUDIO as readonly string[]).includes(operation);
}

/** The dialect that each route speaks. */
export const DIALECT_OF: Readonly<Record<Operation, DialectName>> = {
  '/v1/chat/completions': 'OpenAI',
  '/v1/completions': 'OpenAI',
  '/v1/embeddings': 'OpenAI',
  '/v1/messages': 'Anthropic',
  '/v1/messages/count_tokens': 'Anthropic',
  '/v1/responses': 'OpenAI',
};

/** What a request asks of a model beside text; a model that cannot do it refuses by name. */
export type Feature = 'Images' | 'Tools' | 'JSONSchema' | 'Reasoning';

/** What money, limits and routes have to know of a request. Plain data, which may come from another thread. */
export interface RequestSummary {
  readonly operation: Operation;
  /** As the client names it. */
  readonly model: string;
  readonly stream: boolean;
  /** The client asked for a chunk with usage. (In Anthropic's dialect it always gets one.) */
  readonly wantsUsage: boolean;
  /** Most tokens of one answer; undefined: as many as the model gives. */
  readonly maxOutputTokens: number | undefined;
  /** The member that says so, or would. */
  readonly maxOutputMember: 'max_tokens' | 'max_completion_tokens' | 'max_output_tokens';
  /** Prompts that have a context of their own each: those of a completion, or what is embedded. */
  readonly inputs: number;
  /** How many answers: `n`, times the prompts of a completion. 0 where nothing is generated. */
  readonly answers: number;
  /** By the field that asks for it, such as `messages[0].content[1]`. */
  readonly features: ReadonlyMap<Feature, string>;
  readonly images: number;
  /** The first image or document that a server would have to fetch from an address. */
  readonly fetchedAt: string | undefined;
  /** Characters of images inside the body, which are no text. */
  readonly imageCharacters: number;
  /** Tools that their vendor describes, of which the request has the name alone. */
  readonly namedTools: number;
  /** Cache writes that last longer than the usual five minutes are asked for. */
  readonly longCache: boolean;
  /** Of a response: what its answer tells back. Bounded. */
  readonly asked?: Readonly<Record<string, unknown>> | undefined;
}

/** A request, read. */
export interface InferenceRequest extends RequestSummary {
  /** Everything that becomes tokens, images apart; for a tokenizer. */
  texts(): Iterable<string>;
  /** As it was sent. */
  readonly body: Readonly<Record<string, unknown>>;
}

export type ReadRequest =
  | { readonly outcome: 'Request'; readonly request: InferenceRequest }
  | ({ readonly outcome: 'Refused' } & RequestFault);

export interface RequestFault {
  /** Names the field, the reason and what would fit. */
  readonly message: string;
  /** The field, in the form of the dialect: `messages[0].content`. */
  readonly param?: string | undefined;
}

/** What went wrong, as it is said in any dialect. */
export interface DialectError {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly param?: string | undefined;
  /** What to do next. */
  readonly fix?: string | undefined;
  readonly requestId: string;
}

/** What an upstream says when it refuses; nothing of it but these fields reaches a client. */
export interface UpstreamError {
  readonly message: string;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly param?: string | undefined;
  /** It names what in the content is not allowed. */
  readonly isOfContent?: boolean | undefined;
}

export type MaxTokensMember = 'max_tokens' | 'max_completion_tokens';

export interface FollowOptions {
  /** Cost of this usage, for the last chunk that carries usage (`x-svc-cost-usd`). */
  costOf(usage: Usage): string;
  /** By our count, where the upstream reports none. */
  counted(outputBytes: number): Usage;
}

/** What becomes of one frame of an upstream's stream. */
export interface FollowedFrame {
  /** What the client gets instead of it: a whole frame with its empty line; undefined: nothing. */
  readonly out: string | undefined;
  /** UTF-8 bytes of generated text, reasoning and arguments of tools in it. */
  readonly outputBytes: number;
}

/** Follows one stream. Not pure: it keeps where the stream stands. */
export interface StreamFollower {
  /** Throws a `BrokenStreamError` for a frame that is none of the dialect. */
  frame(frame: SseFrame): FollowedFrame;
  /** The newest that the upstream has reported, each token counted once; undefined: nothing yet. */
  readonly usage: Usage | undefined;
  /** `Complete`: the stream has come to its own end. `Failed`: the upstream has said so. */
  readonly state:
    | { readonly is: 'Open' }
    | { readonly is: 'Complete' }
    | { readonly is: 'Failed'; readonly error: UpstreamError };
  /** All generated bytes so far. */
  readonly outputBytes: number;
  /** Of them, those that came behind the newest report of usage: it does not count them. */
  readonly unreportedBytes: number;
  /** What ends a stream that cannot be completed, for dialects that tell it by where the stream stands. Undefined: as `Dialect.errorFrame`. */
  fail?(error: DialectError): string | undefined;
}

export { BrokenStreamError } from '../sse.js';

/** How much of its limits a caller has left. Times are ms from now. */
export interface LimitState {
  readonly requests?: LimitLeft | undefined;
  readonly tokens?: LimitLeft | undefined;
}

export interface LimitLeft {
  readonly limit: number;
  readonly remaining: number;
  /** Until all of it is there again. */
  readonly resetMs: number;
}

export interface Dialect {
  readonly name: DialectName;
  /** `body`: parsed JSON. Refuses what the gateway does not let pass: `base_url`, `api_base`, a body that is no object, counts out of range. */
  readRequest(operation: Operation, body: unknown): ReadRequest;
  /**
   * The body for an upstream that calls the model so; streams ask for usage. `maxTokensMember`: in what it is told how much to generate, where
   * servers of the dialect differ. Undefined: it is not told yet (`maxTokensOf`).
   */
  upstreamBody(
    request: InferenceRequest,
    model: string,
    maxTokensMember?: MaxTokensMember,
  ): Readonly<Record<string, unknown>>;
  /** What `upstreamBody` adds by that member; undefined: nothing, whatever it is called. */
  maxTokensOf(request: RequestSummary): number | undefined;
  /** Of a whole answer; undefined: it reports none, or nonsense. */
  readUsage(operation: Operation, answer: unknown): Usage | undefined;
  /** UTF-8 bytes of what a whole answer has generated. */
  outputBytes(operation: Operation, answer: unknown): number;
  /** What an upstream's body says that it refuses, also with status 200; undefined: it is no error. */
  readError(body: unknown): UpstreamError | undefined;
  follow(request: RequestSummary, options: FollowOptions): StreamFollower;
  /** Body of an error, JSON text. */
  errorBody(error: DialectError): string;
  /** What ends a stream that has begun and cannot be completed. */
  errorFrame(error: DialectError): string;
  /** What keeps a quiet stream alive and means nothing. */
  readonly keepAlive: string;
  /** Rate limit headers. `now` in ms since the epoch. */
  limitHeaders(state: LimitState, now: number): Readonly<Record<string, string>>;
}
