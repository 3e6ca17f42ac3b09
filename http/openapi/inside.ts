/** Owns the description of what is served inside a running Sandbox or Workspace. Pure. Source: decisions, "Routes not shown". */
import { json } from '../routes/declared/bodies.js';
import { COMMAND, EPOCH, RESULT, WAIT } from '../routes/declared/interactive.js';
import { filePaths } from './inside-files.js';
import { NAME, NAMESPACE } from './parameters.js';
import { route } from './route.js';
import type { Node } from './schema.js';

/** `object` is the path of one object of the kind. */
export function insidePaths(object: string, kind: 'Sandbox' | 'Workspace'): Record<string, Node> {
  const place = [NAMESPACE as unknown as Node, NAME as unknown as Node];
  return {
    ...filePaths(object, kind),
    [`${object}/exec`]: {
      post: route({
        id: `runCommandOf${kind}`,
        tag: kind,
        summary: 'Run a command and wait for its end',
        parameters: [...place, EPOCH, WAIT],
        body: json(COMMAND),
        answer: {
          schema: RESULT,
          description: 'How it ended; frames {stream, data} as lines when application/x-ndjson is accepted.',
        },
      }),
    },
  };
}
