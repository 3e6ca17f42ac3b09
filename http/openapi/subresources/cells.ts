/** The description of an object's children as rows (`http/routes/cells.ts`). Pure. */
import type { KindDefinition } from '../../../src/kinds/kind.js';
import { NAME, NAMESPACE } from '../parameters.js';
import { INTEGER, list, query, route, TEXT } from '../route.js';
import type { Node } from '../schema.js';

export function describeCells(object: string, kind: string, { cells }: KindDefinition): Record<string, Node> {
  return {
    [`${object}/cells`]: {
      get: route({
        id: `listCellsOf${kind}`,
        tag: kind,
        summary: `List the cells of a ${kind}`,
        parameters: [
          { ...NAMESPACE },
          { ...NAME },
          query('after', '`continue` of the page before.'),
          query(
            'limit',
            'At most so many; 100 by default, and no more than 500. A page of large cells ends earlier, with `continue`.',
            INTEGER,
          ),
          query('phase', `Only cells of this phase: ${(cells?.phases ?? []).join(', ')}.`),
        ],
        answer: {
          schema: list({ type: 'object' }, { continue: { ...TEXT, description: 'Present when there may be more.' } }),
          description: 'By index, each as in `status.cells`.',
        },
      }),
    },
  };
}
