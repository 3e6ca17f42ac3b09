/** From a body's bytes to what they ask for, or to why they are refused. Pure; runs on the event loop and in the thread for large bodies. */
import { isUtf8 } from 'node:buffer';
import type { Refusal } from '../../src/api/refusal.js';
import type { InferenceRequest, Operation } from '../../src/engines/inference/dialects/dialect.js';
import { parseExact } from '../../src/engines/inference/dialects/exact-json.js';
import { dialectFor } from '../../src/engines/inference/dialects/index.js';

export type Understood =
  | { readonly outcome: 'Request'; readonly request: InferenceRequest }
  | { readonly outcome: 'Refused'; readonly refusal: Refusal };

/** What is wrong with a body is not quoted: it is a client's prompt. */
export function understandBody(operation: Operation, bytes: Buffer): Understood {
  if (!isUtf8(bytes)) return refused('the body is not UTF-8', 'Send the JSON in UTF-8.');
  let body: unknown;
  try {
    body = parseExact(bytes.toString('utf8'));
  } catch {
    return refused('the body is not JSON', 'Send one JSON object.');
  }
  const read = dialectFor(operation).readRequest(operation, body);
  if (read.outcome === 'Request') return read;
  const { message, param = '' } = read;
  const causes = [{ field: param, reason: 'FieldValueInvalid', message }];
  const refusal: Refusal = {
    code: 'BadRequest',
    message: message.startsWith(param) ? message : `${param}: ${message}`,
    causes,
  };
  return { outcome: 'Refused', refusal };
}

function refused(message: string, fix: string): Understood {
  return { outcome: 'Refused', refusal: { code: 'BadRequest', message, fix } };
}
