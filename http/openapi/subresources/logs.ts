/** The description of logs and of collected outputs. Pure. */
import type { KindDefinition } from '../../../src/kinds/kind.js';
import { described } from '../../routes/declared/bodies.js';
import { LOG_PARAMETERS, SESSION_LOG_PARAMETERS } from '../../routes/declared/logs.js';
import { NAME, NAMESPACE } from '../parameters.js';
import { BOOLEAN, BYTES, INTEGER, list, path, query, route, TEXT } from '../route.js';
import type { Node } from '../schema.js';

const PLACE: readonly Node[] = [{ ...NAMESPACE }, { ...NAME }];

const OUTPUT: Node = {
  type: 'object',
  required: ['name', 'index', 'size', 'sha256'],
  properties: {
    name: described('Name of the output.'),
    index: described('Index of the Job.', INTEGER),
    size: described('Bytes.', INTEGER),
    sha256: described('Digest of the bytes.'),
    directory: described('It was a directory: the bytes are its tar.zst.', BOOLEAN),
    time: described('When it was collected.', { type: 'string', format: 'date-time' }),
    error: described('Why it could not be collected.'),
  },
};

export function describeLogs(
  object: string,
  kind: string,
  { subresources = [] }: KindDefinition,
): Record<string, Node> {
  const parameters = subresources.includes('processes') ? SESSION_LOG_PARAMETERS : LOG_PARAMETERS;
  return {
    [`${object}/logs`]: {
      get: route({
        id: `read${kind}Logs`,
        tag: 'Logs',
        summary: `Read the output of a ${kind}`,
        parameters: [...PLACE, ...parameters],
        answer: { type: 'text/plain', schema: TEXT, description: 'The lines.' },
      }),
    },
  };
}

/** Logs of what runs in stages. */
export function describeStages(object: string, kind: string): Record<string, Node> {
  return {
    [`${object}/stages/{stage}/logs`]: {
      get: route({
        id: `read${kind}StageLogs`,
        tag: 'Logs',
        summary: `Read the output of a stage of a ${kind}`,
        parameters: [...PLACE, path('stage', 'Name of the stage.'), ...LOG_PARAMETERS],
        answer: { type: 'text/plain', schema: TEXT, description: 'The lines.' },
      }),
    },
  };
}

export function describeOutputs(object: string, kind: string): Record<string, Node> {
  return {
    [`${object}/outputs`]: {
      get: route({
        id: `list${kind}Outputs`,
        tag: 'Outputs',
        summary: `List the collected outputs of a ${kind}`,
        parameters: [...PLACE, query('index', `Only those of this index of the ${kind}.`, INTEGER)],
        answer: { schema: list(OUTPUT), description: 'The outputs, by index and name.' },
      }),
    },
    [`${object}/outputs/{output}`]: {
      get: route({
        id: `read${kind}Output`,
        tag: 'Outputs',
        summary: `Download an output of a ${kind}`,
        parameters: [...PLACE, path('output', 'Name of the output.'), query('index', `Index of the ${kind}.`, INTEGER)],
        answer: { type: 'application/octet-stream', schema: BYTES, description: 'The bytes; directories are tar.zst.' },
      }),
    },
  };
}
