/** Owns the declaration of AgentRun: one durable execution of an Agent in a Sandbox of its own. */
import type { ApiObject } from '../../api/object.js';
import { costColumn, countColumn, EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import type { KindDefinition, Reference } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { catalogReference } from '../shapes/names.js';
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
    textColumn('Agent', 'Its Agent.', ({ spec }: This) => spec.agent),
    textColumn('Group', 'Its group.', ({ spec }: This) => spec.group),
    wide(textColumn('Task', 'Its key in the group.', ({ spec }: This) => spec.taskKey)),
    countColumn('Turns', 'Turns so far.', ({ status }: This) => status.turns?.length),
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
