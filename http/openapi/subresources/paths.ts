/** The OpenAPI paths of the subresources that are served, from the declarations of the kinds. Pure. */
import type { KindDefinition, Subresource } from '../../../src/kinds/kind.js';
import { objectPathOf } from '../operations.js';
import type { Node } from '../schema.js';
import { describeCells } from './cells.js';
import { describeDeliveries } from './deliveries.js';
import { describeFiles } from './files.js';
import { describeLogs, describeOutputs, describeStages } from './logs.js';
import { describePorts } from './ports.js';
import { describeExec, describeProcesses, describeTerminal } from './processes.js';
import { describeTools } from './tools.js';

/** `object`: path of one object. `kind`: name of its kind. */
type Describe = (object: string, kind: string, definition: KindDefinition) => Record<string, Node>;

const DESCRIPTIONS: Readonly<Record<Subresource, Describe>> = {
  cells: describeCells,
  deliveries: describeDeliveries,
  exec: describeExec,
  files: describeFiles,
  logs: describeLogs,
  outputs: describeOutputs,
  ports: describePorts,
  processes: describeProcesses,
  stages: describeStages,
  terminal: describeTerminal,
  tools: describeTools,
};

export function subresourcePaths(group: string, kinds: readonly KindDefinition[]): Record<string, Node> {
  const paths: Record<string, Node> = {};
  for (const kind of kinds) {
    for (const name of kind.subresources ?? []) {
      Object.assign(paths, DESCRIPTIONS[name](objectPathOf(group, kind), kind.kind, kind));
    }
  }
  return paths;
}
