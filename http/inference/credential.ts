/** Where a client of the data plane puts its key: as `Authorization: Bearer`, or as Anthropic's clients do in `x-api-key`. */
import type { IncomingMessage } from 'node:http';
import { refuse } from '../../src/api/refusal.js';
import { bearerHash } from '../auth/bearer.js';

/**
 * Makes one header of both, so that everything behind it knows the caller by one. Precondition: the path is of the data plane. Two different keys are
 * left, and refused later.
 */
export function takeApiKey({ headers }: IncomingMessage): void {
  const key = headers['x-api-key'];
  if (typeof key !== 'string' || key === '' || headers.authorization !== undefined) return;
  headers.authorization = `Bearer ${key}`;
}

/** Refuses a request whose two headers hold different keys: it is not said whose it is. */
export function refuseTwoKeys({ headers }: IncomingMessage): void {
  const key = headers['x-api-key'];
  if (typeof key !== 'string' || key === '') return;
  const bearer = `Bearer ${key}`;
  // The scheme may be written in lower case.
  if (headers.authorization === bearer || bearerHash(headers.authorization) === bearerHash(bearer)) return;
  throw refuse('BadRequest', 'the headers Authorization and x-api-key hold different keys', {
    fix: 'Send one of the two.',
  });
}
