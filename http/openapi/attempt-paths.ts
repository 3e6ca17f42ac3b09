/** The OpenAPI paths of the attempt API (`attempt-api/server.ts`), which work alone reaches. Pure. Source: decisions, "Routes not shown". */
import { json, record, described } from '../routes/declared/bodies.js';
import { INTEGER, OBJECT, route } from './route.js';
import type { Node } from './schema.js';

const WHERE =
  'From inside running work only: on the unix socket that SVC_API_SOCKET names, with the token in SVC_TOKEN as bearer, which ends with the epoch of its attempt. The ports of the service do not have it.';
const LATER = `${WHERE} Not served yet: answers 501 Unsupported.`;

export function attemptPaths(): Record<string, Node> {
  const tag = 'Attempt';
  return {
    '/attempt/v1/progress': {
      post: route({
        id: 'reportProgress',
        tag,
        summary: 'From inside: how far the work has come',
        description: `${WHERE} Noted in status.progress of the Attempt; about once a second at most.`,
        body: json(
          record({ completed: described('Units done.', INTEGER), total: described('Units in all.', INTEGER) }, [
            'completed',
          ]),
        ),
        answer: { schema: OBJECT, description: 'Noted.' },
      }),
    },
    '/attempt/v1/checkpoints': {
      post: route({
        id: 'reportCheckpoint',
        tag,
        summary: 'From inside: save a checkpoint now',
        description: LATER,
        body: json(OBJECT, false),
        answer: { status: 201, schema: OBJECT, description: 'Saved.' },
      }),
    },
    '/attempt/v1/rendezvous': {
      get: route({
        id: 'readRendezvous',
        tag,
        summary: 'From inside: where the members of the gang meet',
        description: LATER,
        answer: { schema: OBJECT, description: 'Where they meet.' },
      }),
    },
  };
}
