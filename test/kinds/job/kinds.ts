/** Which machines live in the small world. */
import type { Address } from '../../../src/api/address.js';
import { attemptKind } from '../../../src/kinds/attempt/index.js';
import { jobKind } from '../../../src/kinds/job/index.js';
import { pipelineKind } from '../../../src/kinds/pipeline/index.js';
import { sandboxKind } from '../../../src/kinds/sandbox/index.js';
import { sweepKind } from '../../../src/kinds/sweep/index.js';
import { volumeKind } from '../../../src/kinds/volume/index.js';
import { workspaceKind } from '../../../src/kinds/workspace/index.js';
import type { KindDefinition } from '../../../src/kinds/kind.js';
import { nodeKind } from '../../../src/kinds/node/index.js';

const KINDS = new Map(
  [jobKind, sweepKind, pipelineKind, sandboxKind, workspaceKind, volumeKind, attemptKind, nodeKind].map((kind) => [
    kind.kind,
    kind,
  ]),
);

export function kindOf(address: Address): KindDefinition {
  const kind = KINDS.get(address.kind);
  if (kind === undefined) throw new Error(`no kind ${address.kind}`);
  return kind;
}
