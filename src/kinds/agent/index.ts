/** Owns the declaration of Agent: the durable definition of a language-model agent, which AgentRuns carry out. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION } from '../declare.js';
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
    {
      name: 'State',
      type: 'string',
      description: 'Whether it takes new runs.',
      cell: ({ spec }: This) => spec.state ?? '',
    },
    {
      name: 'Access',
      type: 'string',
      description: 'A hosted model, or one of your own key.',
      cell: ({ spec }: This) => spec.model?.access ?? '',
    },
    {
      name: 'Per Run',
      type: 'string',
      description: 'Most that one run may cost, in USD.',
      cell: ({ spec }: This) => spec.perRunMaxCostUSD ?? '',
    },
    {
      name: 'Image',
      type: 'string',
      priority: 1,
      description: "Image of the runs' Sandboxes.",
      cell: ({ spec }: This) => spec.image ?? '',
    },
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
