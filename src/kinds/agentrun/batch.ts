/**
 * Owns what holds between the runs of one AgentRunList. Source: spec, "AgentRun": a task key is unique in its group, and
 * a run waits for tasks that are in the group already or stand earlier in the same list. Pure.
 */
import type { Cause } from '../../api/refusal.js';
import { isObject } from '../../api/safe-value.js';
import type { Batch } from '../kind.js';

interface Task {
  readonly key: string;
  readonly index: number;
}

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
