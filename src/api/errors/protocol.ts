/** What each reason of kube-apiserver's own means that is no registered code; clients of Kubernetes look for these words. */
import type { ErrorEntry } from './table.js';

export const PROTOCOL_TABLE = {
  NotAcceptable: {
    status: 406,
    title: 'No such form',
    explanation:
      'What the Accept header asks for is no form of this answer. Objects come as JSON or YAML; lists and watches as JSON; both also as Table and PartialObjectMetadata.',
    fix: 'Send the header "Accept: application/json".',
  },
  Timeout: {
    status: 504,
    title: 'The version does not exist yet',
    explanation:
      'The read, list or watch asks for a resourceVersion that is newer than the newest. It comes of another service or of one that was restored from a backup.',
    fix: 'Send a resourceVersion that this service has answered, or none for the newest state.',
    retryAfterSeconds: 1,
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>;

export type ProtocolReason = keyof typeof PROTOCOL_TABLE;
