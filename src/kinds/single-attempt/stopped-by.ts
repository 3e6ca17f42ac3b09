/** The sentence of `status.message` for a stop that a client asked for. */
import type { Author } from '../../api/access/author.js';

/** `by` is absent for a write that the service made itself. */
export function stoppedBy(by: Author | undefined): string {
  return by === undefined ? 'Stopped as its spec asks' : `Stopped by ${by.name}`;
}
