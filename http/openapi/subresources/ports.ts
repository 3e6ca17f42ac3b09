/** The description of the ports of programs inside what runs. Pure. Source: decisions, "Routes not shown". */
import { EPOCH } from '../../routes/declared/interactive.js';
import { NAME, NAMESPACE } from '../parameters.js';
import { BYTES, path, route } from '../route.js';
import type { Node } from '../schema.js';

const PROXIED = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'];

/** Any method; WebSockets and other upgrades too. */
export function describePorts(object: string, kind: string): Record<string, Node> {
  const of = (method: string): Node =>
    route({
      id: `${method}PortOf${kind}`,
      tag: kind,
      summary: 'Reach a port inside',
      description:
        'The request as it is, without the key; 503 Unavailable when nothing listens there. Cookies and redirects from inside hold below this path.',
      parameters: [
        { ...NAMESPACE },
        { ...NAME },
        path('port', 'Port that a program inside listens on, on loopback.'),
        path('path', 'Path there, with slashes.'),
        EPOCH,
      ],
      answer: { type: '*/*', schema: BYTES, description: 'What the program answers.' },
    });
  return {
    [`${object}/ports/{port}/{path}`]: Object.fromEntries(PROXIED.map((method) => [method, of(method)])),
  };
}
