/** The declaration of AgentGroup: many AgentRuns of one Agent, with limits, dependencies, one cap and one end. */
import type { ApiObject } from '../../api/object.js';
import { costColumn, countColumn, EVERY_OPERATION, phaseColumn, reasonColumn, textColumn } from '../declare.js';
import type { KindDefinition } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { catalogReference } from '../shapes/names.js';
import { agentGroupSpec, agentGroupStatus, type AgentGroupSpec, type AgentGroupStatus } from './schema.js';

type This = ApiObject<AgentGroupSpec, AgentGroupStatus>;

export const agentGroupKind: KindDefinition = {
  kind: 'AgentGroup',
  plural: 'agentgroups',
  singular: 'agentgroup',
  shortNames: ['ag'],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'Many AgentRuns of one Agent, with a limit on how many go on at once, a graph of dependencies, a shared cap and one cancel.',
  schema: {
    spec: agentGroupSpec,
    status: agentGroupStatus,
    immutable: ['spec.agent', 'spec.evaluation'],
    raiseOnly: ['spec.maxCostUSD', 'spec.sealed'],
  },
  columns: [
    phaseColumn('group'),
    textColumn('Agent', 'Its Agent.', ({ spec }: This) => spec.agent),
    countColumn('Active', 'Members that run.', ({ status }: This) => status.counts?.active),
    textColumn(
      'Succeeded',
      'Members that succeeded, of all.',
      ({ status }: This) => `${status.counts?.succeeded ?? 0}/${status.counts?.total ?? 0}`,
    ),
    costColumn(),
    reasonColumn(),
  ],
  selectableFields: {
    'spec.agent': ({ spec }: This) => spec.agent,
    'status.reason': ({ status }: This) => status.reason,
  },
  initialStatus: (): AgentGroupStatus => ({ phase: 'Running' }),
  references: ({ spec: { agent, evaluation } }: This) => [
    catalogReference('Agent', 'spec.agent', agent),
    ...(evaluation === undefined
      ? []
      : [catalogReference('Environment', 'spec.evaluation.environment', evaluation.environment)]),
  ],
  unbuilt: true,
  machine: plainMachine<AgentGroupSpec, AgentGroupStatus>(),
};
