/**
 * Which Idempotency-Keys are being worked on in this process: a second request with a key that is still running is
 * 409 RequestInProgress. What was answered before is storage's to replay; this ends with the process, as it should.
 *
 * I10: bounded by the number of requests in flight.
 */
import { refuse } from '../../src/api/refusal.js';

export interface InflightIdempotency {
  /** Takes the key or refuses; the returned function gives it back. */
  take(org: string, holder: string, key: string, fingerprint: string): () => void;
}

export function openInflightIdempotency(): InflightIdempotency {
  const running = new Map<string, string>();
  return {
    take(org, holder, key, fingerprint) {
      const id = `${org}/${holder}/${key}`;
      const other = running.get(id);
      if (other === fingerprint) {
        throw refuse('RequestInProgress', `a request with Idempotency-Key "${key}" is still running`);
      }
      if (other !== undefined) {
        throw refuse('IdempotencyKeyReused', `Idempotency-Key "${key}" is in use by a different request`);
      }
      running.set(id, fingerprint);
      return () => {
        running.delete(id);
      };
    },
  };
}
