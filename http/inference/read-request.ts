/**
 * Reads a call's body and says what it asks for. Bodies of real turns reach 12 MiB; a large one is parsed when it is its org's turn
 * (`heavy-turns.ts`), so that it holds up nobody for longer than its own parsing.
 */
import { isUtf8 } from 'node:buffer';
import { refuse } from '../../src/api/refusal.js';
import type { Dialect, InferenceRequest, Operation } from '../../src/engines/inference/dialects/dialect.js';
import type { Exchange } from '../exchange.js';
import type { ServerContext } from '../server-context.js';

/** Largest body in bytes. */
export const MOST_BODY = 32 * 2 ** 20;
/** Below it a body is parsed at once: in a third of a millisecond. */
const LIGHT_BODY = 64 * 1024;

export interface ReadCall {
  readonly request: InferenceRequest;
  /** Of the body. */
  readonly bytes: number;
}

export async function readRequest(
  x: Exchange,
  context: Pick<ServerContext, 'bodies' | 'heavyTurns'>,
  dialect: Dialect,
  operation: Operation,
): Promise<ReadCall> {
  const bytes = await context.bodies.take(x, MOST_BODY);
  checkType(x);
  if (bytes.length > LIGHT_BODY) await context.heavyTurns.ofBody(x, bytes.length);
  try {
    const read = dialect.readRequest(operation, parse(bytes));
    if (read.outcome === 'Request') return { request: read.request, bytes: bytes.length };
    const { message, param = '' } = read;
    throw refuse('BadRequest', param === '' ? message : `${param}: ${message}`, {
      causes: [{ field: param, reason: 'FieldValueInvalid', message }],
    });
  } finally {
    x.endHeavyTurn?.();
  }
}

function checkType(x: Exchange): void {
  const type = (x.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type === 'application/json') return;
  throw refuse('UnsupportedMediaType', `the content type "${(type ?? '').slice(0, 64)}" is not supported here`, {
    fix: 'Send JSON, with the header Content-Type: application/json.',
  });
}

/** What is wrong with it is not quoted: it is a client's prompt. */
function parse(bytes: Buffer): unknown {
  const text = decode(bytes);
  try {
    return JSON.parse(text);
  } catch {
    throw refuse('BadRequest', 'the body is not JSON', { fix: 'Send one JSON object.' });
  }
}

function decode(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw refuse('BadRequest', 'the body is not UTF-8', { fix: 'Send the JSON in UTF-8.' });
}
