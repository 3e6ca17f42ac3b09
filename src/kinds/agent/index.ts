/** The declaration of Agent: the durable definition of a language-model agent, which AgentRuns carry out. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, textColumn, wide } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { image, named } from '../shapes/references.js';
import { agentSpec, agentStatus, type AgentSpec, type AgentStatus } from './schema.js';

type This = ApiObject<AgentSpec, AgentStatus>;

export const agentKind: KindDefinition = {
  kind: 'Agent',
  plural: 'agents',
  singular: 'agent',
  shortNames: [],
  categories: [],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'The durable definition of a language-model agent. A change applies to runs that are created afterwards.',
  schema: { spec: agentSpec, status: agentStatus, immutable: [], raiseOnly: [] },
  columns: [
    textColumn('State', 'Whether it takes new runs.', ({ spec }: This) => spec.state),
    textColumn('Access', 'A hosted model, or one of your own key.', ({ spec }: This) => spec.model?.access),
    textColumn('Per Run', 'Most that one run may cost, in USD.', ({ spec }: This) => spec.perRunMaxCostUSD),
    wide(textColumn('Image', "Image of the runs' Sandboxes.", ({ spec }: This) => spec.image)),
  ],
  selectableFields: { 'spec.model.access': ({ spec }: This) => spec.model?.access },
  initialStatus: ({ spec }: This): AgentStatus => ({ phase: spec.state }),
  references: ({ spec }: This) => [
    ...named('Secret', 'spec.model.apiKeySecret', spec.model.apiKeySecret),
    ...image('spec.image', spec.image),
  ],
  unbuilt: true,
  machine: plainMachine<AgentSpec, AgentStatus>(),
};
