/**
 * Reads a call's body and says what it asks for. Bodies of real turns reach 12 MiB: what would hold the event loop for more than a few milliseconds
 * is read and written anew in a thread (`large-bodies.ts`), and what it says and how it is refused is the same.
 */
import { refuse, RefusalError } from '../../src/api/refusal.js';
import type { DialectName, Operation, RequestFault } from '../../src/engines/inference/dialects/dialect.js';
import { writeExact } from '../../src/engines/inference/dialects/exact-json.js';
import { dialectFor } from '../../src/engines/inference/dialects/index.js';
import {
  type ChatOperation,
  isChat,
  type ModelForm,
  translateRequest,
} from '../../src/engines/inference/dialects/translate.js';
import { type CountedRequest, digitsOf } from '../../src/engines/inference/tokens/count.js';
import { copyTogether } from '../copy-in-turns.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';
import type { LargeRequest } from './read-large.js';
import { understandBody } from './understand.js';

/** Largest body in bytes. */
export const MOST_BODY = 32 * 2 ** 20;

export interface ReadCall {
  readonly request: CountedRequest;
  /** Of the body, as it came and at least as many as go on: numbers may be written longer. */
  readonly bytes: number;
  /** The body for an upstream of its own dialect that calls the model so; a promise of a large one. */
  encode(model: string, form: Pick<ModelForm, 'maxTokensMember'>): Buffer | Promise<Buffer>;
  /** The same for an upstream of another dialect. Precondition: it asks for an answer in a conversation. */
  translate(to: DialectName, form: TranslationForm): Translation | Promise<Translation>;
  /** It will not be encoded any more: a large one leaves memory. */
  forget(): void;
}

export interface TranslationForm extends ModelForm {
  /** Of a request that does not say. */
  readonly maxOutputTokens: number;
}

export type Translation =
  | { readonly outcome: 'Translated'; named(model: string): Buffer | Promise<Buffer> }
  | { readonly outcome: 'CannotCarry'; readonly fault: RequestFault };

type Reader = Pick<Exchange, 'header' | 'caller' | 'gone' | 'place'>;

export async function readRequest(
  x: Exchange,
  context: Pick<ServerContext, 'bodies' | 'largeBodies'>,
  operation: Operation,
): Promise<ReadCall> {
  const bytes = await context.bodies.take(x, MOST_BODY);
  return readBytes(x, context, operation, bytes);
}

export function readBytes(
  x: Reader,
  { largeBodies }: Pick<ServerContext, 'largeBodies'>,
  operation: Operation,
  bytes: Buffer,
): ReadCall | Promise<ReadCall> {
  checkType(x);
  if (largeBodies.isLarge(bytes)) return readInThread(x, largeBodies, operation, bytes);
  const understood = understandBody(operation, bytes);
  if (understood.outcome === 'Refused') throw new RefusalError(understood.refusal);
  const { request } = understood;
  const dialect = dialectFor(operation);
  return {
    ...{ request, bytes: bytes.length + digitsOf(request.body), forget: () => undefined },
    encode: (model, { maxTokensMember }) =>
      Buffer.from(writeExact(dialect.upstreamBody(request, model, maxTokensMember))),
    translate(to, form) {
      const translated = translateRequest(chatOf(operation), request.body, to, { ...form, stream: request.stream });
      if (translated.outcome === 'CannotCarry') return translated;
      const { body } = translated;
      return { outcome: 'Translated', named: (model) => Buffer.from(writeExact({ model, ...body })) };
    },
  };
}

async function readInThread(
  x: Reader,
  largeBodies: ServerContext['largeBodies'],
  operation: Operation,
  bytes: Buffer,
): Promise<ReadCall> {
  const { length } = bytes;
  const large = await largeBodies.read(x.caller?.org ?? '', { operation, bytes }, x.gone);
  if (large.outcome === 'Refused') throw new RefusalError(large.refusal);
  const { summary, digits, texts, written, changed } = large;
  // Numbers may be written longer than they came; the rest of it is counted already.
  if (written.length > length && x.place?.hold(written.length - length) === false) throw tooManyBodies();
  let kept: Written | undefined = large;
  return {
    request: { ...summary, texts: () => texts },
    bytes: length + digits,
    encode(model, { maxTokensMember }) {
      if (kept === undefined) throw new Error('the body was let go before it was sent');
      const most = dialectFor(operation).maxTokensOf(summary);
      return named(kept, model, most === undefined ? '' : `,"${maxTokensMember}":${most}`);
    },
    async translate(to, form) {
      if (kept === undefined) throw new Error('the body was let go before it was sent');
      if (x.place?.hold(length) === false) throw tooManyBodies();
      const task = { translate: chatOf(operation), to, options: { ...form, stream: summary.stream }, changed };
      // A copy: what is handed to the thread is gone.
      const copy = new Uint8Array(kept.written);
      const translated = await largeBodies.translate(x.caller?.org ?? '', { ...task, bytes: copy }, x.gone);
      if (translated.outcome === 'CannotCarry') return translated;
      return { outcome: 'Translated', named: (model) => named(translated, model) };
    },
    forget() {
      kept = undefined;
    },
  };
}

function tooManyBodies(): RefusalError {
  return refuse('TooManyRequests', 'too many request bodies are held in memory at once', { retryAfterSeconds: 1 });
}

function chatOf(operation: Operation): ChatOperation {
  if (isChat(operation)) return operation;
  throw new Error(`${operation} is said in one dialect alone`);
}

type Written = Pick<Extract<LargeRequest, { outcome: 'Request' }>, 'written' | 'name'>;

/** A copy for each upstream that is tried: one that was given up may still be reading its own. `members`: of JSON, that come behind the name. */
function named({ written, name: { from, to } }: Written, model: string, members = ''): Buffer | Promise<Buffer> {
  const pieces = [written.subarray(0, from), Buffer.from(JSON.stringify(model) + members), written.subarray(to)];
  return copyTogether(
    pieces,
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
}

function checkType(x: Reader): void {
  const type = (x.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type === 'application/json') return;
  throw refuse('UnsupportedMediaType', `the content type "${(type ?? '').slice(0, 64)}" is not supported here`, {
    fix: 'Send JSON, with the header Content-Type: application/json.',
  });
}
