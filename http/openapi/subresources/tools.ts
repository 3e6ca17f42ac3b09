/** The description of links to browser tools, and of what is behind them. Pure. */
import { record, described } from '../../routes/declared/bodies.js';
import { NAME, NAMESPACE } from '../parameters.js';
import { BYTES, path, query, route, TEXT } from '../route.js';
import type { Node } from '../schema.js';

const PROXIED = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'];

export function describeTools(object: string, kind: string): Record<string, Node> {
  const of = (method: string): Node =>
    route({
      id: `${method}Tool`,
      tag: kind,
      summary: 'Use a browser tool',
      description:
        'Authenticated by the cookie that a link sets, for this path alone: with `link` the answer is 303. The tool is started when somebody comes. WebSockets too. 409 once the Workspace has been stopped or started anew.',
      parameters: [
        path('org', 'The org.'),
        path('project', 'The project.'),
        path('name', `Name of the ${kind}.`),
        path('tool', '`jupyter` or `vscode`.'),
        path('path', 'Path of the tool, with slashes.'),
        ...(method === 'get' ? [query('link', 'Value of a link.')] : []),
      ],
      open: true,
      answer: { type: '*/*', schema: BYTES, description: 'What the tool answers.' },
    });
  return {
    [`${object}/tools/{tool}/links`]: {
      post: route({
        id: `createToolLinkOf${kind}`,
        tag: kind,
        summary: 'Make a link that opens a tool in a browser, once',
        description:
          'Of a running Workspace. `ssh` answers where to go. 409 WorkspaceToolUnavailable when spec.tools or the image has no such tool, NoSSHKey when neither the Workspace nor a member has a key.',
        parameters: [
          NAMESPACE as unknown as Node,
          NAME as unknown as Node,
          path('tool', '`jupyter`, `vscode` or `ssh`.'),
        ],
        answer: {
          status: 201,
          schema: record(
            {
              url: described('To be opened in a browser, or by an SSH client.'),
              expirationTime: described('Until when it is good, unless it is used before.', {
                ...TEXT,
                format: 'date-time',
              }),
            },
            ['url'],
          ),
          description: 'The link.',
        },
      }),
    },
    '/tools/{org}/{project}/{name}/{tool}/{path}': Object.fromEntries(PROXIED.map((method) => [method, of(method)])),
  };
}
