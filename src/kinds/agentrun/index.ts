/** The declaration of AgentRun: one task that an Agent carries out, by itself or as a member of a group. */
import type { ApiObject } from '../../api/object.js';
import type { Cause } from '../../api/refusal.js';
import { isObject } from '../../api/safe-value.js';
import { costColumn, countColumn, EVERY_OPERATION, phaseColumn, reasonColumn, textColumn, wide } from '../declare.js';
import type { Batch, KindDefinition, Reference } from '../kind.js';
import { plainMachine } from '../plain-machine.js';
import { catalogReference } from '../shapes/names.js';
import { AGENT_RUN_IMMUTABLE, agentRunSpec, type AgentRunSpec, agentRunStatus, type AgentRunStatus } from './schema.js';

interface Task {
  readonly key: string;
  readonly index: number;
}

/**
 * What holds between the runs of one AgentRunList: a task key is unique in its group, and a run waits for tasks that are in the group already
 * or stand earlier in the same list. Source: spec, "AgentRun".
 */
export const agentRunBatch: Batch = {
  most: 100,
  bytes: 32 * 2 ** 20,
  check(runs) {
    const causes: Cause[] = [];
    const specs = runs.map((run) => (isObject(run) && isObject(run['spec']) ? run['spec'] : {}));
    const tasks = new Map<string, Task>();
    for (const [index, { group, taskKey }] of specs.entries()) {
      if (typeof group !== 'string' || typeof taskKey !== 'string') continue;
      const key = `${group}/${taskKey}`;
      const first = tasks.get(key);
      if (first === undefined) tasks.set(key, { key, index });
      else {
        const message = `must be unique in the group, and is that of items[${first.index}] as well`;
        causes.push({ field: `items[${index}].spec.taskKey`, reason: 'FieldValueDuplicate', message });
      }
    }
    for (const [index, { group, dependsOn }] of specs.entries()) {
      if (typeof group !== 'string' || !Array.isArray(dependsOn)) continue;
      for (const [i, needed] of dependsOn.entries()) {
        const task = tasks.get(`${group}/${String(needed)}`);
        if (task === undefined || task.index <= index) continue;
        const message = `must stand earlier in the list, and is items[${task.index}]`;
        causes.push({ field: `items[${index}].spec.dependsOn[${i}]`, reason: 'FieldValueInvalid', message });
      }
    }
    return causes;
  },
};

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
