/** Owns the declaration of AgentRun: one durable execution of an Agent in a Sandbox of its own. */
import type { ApiObject } from '../../api/object.js';
import { EVERY_OPERATION, costColumn, phaseColumn, reasonColumn } from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { catalogReference } from '../shapes/catalog-name.js';
import { agentRunBatch } from './batch.js';
import { AGENT_RUN_IMMUTABLE, agentRunSpec, agentRunStatus, type AgentRunSpec, type AgentRunStatus } from './schema.js';

type This = ApiObject<AgentRunSpec, AgentRunStatus>;

export const agentRunKind: KindDefinition = {
  kind: 'AgentRun',
  plural: 'agentruns',
  singular: 'agentrun',
  shortNames: ['ar'],
  categories: ['all'],
  scope: 'project',
  group: 'api',
  version: 'v1',
  operations: EVERY_OPERATION,
  description:
    'One durable execution of an Agent. It survives restarts by replaying its journal, and repeats no call that is recorded.',
  schema: { spec: agentRunSpec, status: agentRunStatus, immutable: AGENT_RUN_IMMUTABLE, raiseOnly: [] },
  batch: agentRunBatch,
  columns: [
    phaseColumn('run'),
    { name: 'Agent', type: 'string', description: 'Its Agent.', cell: ({ spec }: This) => spec.agent ?? '' },
    { name: 'Group', type: 'string', description: 'Its group.', cell: ({ spec }: This) => spec.group ?? '' },
    {
      name: 'Task',
      type: 'string',
      priority: 1,
      description: 'Its key in the group.',
      cell: ({ spec }: This) => spec.taskKey ?? '',
    },
    {
      name: 'Turns',
      type: 'integer',
      description: 'Turns so far.',
      cell: ({ status }: This) => status.turns?.length ?? 0,
    },
    costColumn(),
    reasonColumn(),
  ],
  selectableFields: {
    'spec.agent': ({ spec }: This) => spec.agent,
    'spec.group': ({ spec }: This) => spec.group,
    'spec.taskKey': ({ spec }: This) => spec.taskKey,
    'status.reason': ({ status }: This) => status.reason,
  },
  initialStatus: (): AgentRunStatus => ({ phase: 'Queued' }),
  references: ({ spec }: This) => [catalogReference('Agent', 'spec.agent', spec.agent), ...groupOf(spec)],
  unbuilt: true,
  runsWork: true,
  unservedSubresources: ['answer', 'journal', 'messages', 'resolutions'],
  machine: plainMachine<AgentRunSpec, AgentRunStatus>(),
};

/** All members of a group are runs of its one Agent. */
function groupOf({ agent, group }: AgentRunSpec): readonly Reference[] {
  if (group === undefined) return [];
  return [
    {
      field: 'spec.group',
      kind: 'AgentGroup',
      name: group,
      objection(found) {
        const { agent: theirs } = found.spec as { readonly agent?: unknown };
        return theirs === agent ? undefined : `AgentGroup "${group}" is one of the Agent "${String(theirs)}"`;
      },
    },
  ];
}
