/** Both sides of every rule of AgentRun, and of what holds between the runs of one list. */
import test from 'ava';
import { agentRunBatch, agentRunKind } from '../../../src/kinds/agentrun/index.js';
import { holdRules } from './table.js';

const KIB = 1024;

holdRules(test, {
  kind: agentRunKind,
  // Of a group, so that there is a task to speak of; a run of none is below.
  least: { agent: 'coder', group: 'g', taskKey: 't', dependsOn: ['a'] },
  defaults: [['spec.state', 'Running']],
  limits: [
    { rule: 'an Agent is needed', within: [], beyond: [['spec.agent', undefined]] },
    { rule: 'an Agent of the catalog', within: [['spec.agent', 'svc/coder']], beyond: [['spec.agent', 'other/coder']] },
    { rule: 'an Agent has no version', within: [['spec.agent', 'coder']], beyond: [['spec.agent', 'coder@1.0.0']] },
    {
      rule: 'a deadline is a time',
      within: [['spec.deadline', '2026-01-02T03:04:05Z']],
      beyond: [['spec.deadline', 'soon']],
    },
    {
      rule: 'an input of 256 KiB',
      within: [['spec.input', 'x'.repeat(256 * KIB)]],
      beyond: [['spec.input', 'x'.repeat(256 * KIB + 1)]],
    },
    {
      rule: 'any JSON value of 256 KiB',
      within: [['spec.input', { a: 'x'.repeat(256 * KIB - 8) }]],
      beyond: [['spec.input', { a: 'x'.repeat(256 * KIB - 7) }]],
    },
    { rule: 'it may be kept alive', within: [['spec.keepAlive', true]], beyond: [['spec.keepAlive', 'yes']] },
    { rule: 'the states', within: [['spec.state', 'Cancelled']], beyond: [['spec.state', 'Suspended']] },
    {
      rule: 'a run of no group has no task',
      within: [
        ['spec.group', undefined],
        ['spec.taskKey', undefined],
        ['spec.dependsOn', []],
      ],
      beyond: [
        ['spec.group', undefined],
        ['spec.dependsOn', undefined],
      ],
      field: 'spec.taskKey',
    },
    {
      rule: 'a run of no group waits for none',
      within: [
        ['spec.group', undefined],
        ['spec.taskKey', undefined],
        ['spec.dependsOn', undefined],
      ],
      beyond: [
        ['spec.group', undefined],
        ['spec.taskKey', undefined],
      ],
      field: 'spec.dependsOn',
    },
    { rule: 'a group needs a task key', within: [['spec.taskKey', 't']], beyond: [['spec.taskKey', undefined]] },
    {
      rule: 'a task key is a label',
      within: [['spec.taskKey', 'a'.repeat(63)]],
      beyond: [['spec.taskKey', 'a'.repeat(64)]],
    },
    { rule: 'a group has a name', within: [['spec.group', 'g.h']], beyond: [['spec.group', 'G']] },
    { rule: 'dependencies are task keys', within: [['spec.dependsOn[0]', 'b']], beyond: [['spec.dependsOn[0]', 'B']] },
    { rule: 'a dependency stands once', within: [['spec.dependsOn[1]', 'b']], beyond: [['spec.dependsOn[1]', 'a']] },
    {
      rule: 'a run does not wait for itself',
      within: [['spec.dependsOn[0]', 'b']],
      beyond: [['spec.dependsOn[0]', 't']],
    },
  ],
  immutable: [
    ['spec.agent', 'coder', 'writer'],
    ['spec.deadline', '2026-01-02T03:04:05Z', '2026-01-02T03:04:06Z'],
    ['spec.input', 'a', 'b'],
    ['spec.keepAlive', true, false],
    ['spec.dependsOn[0]', 'a', 'b'],
    ['spec.group', 'g', 'h'],
    ['spec.taskKey', 't', 'u'],
  ],
  mutable: [['spec.state', 'Running', 'Cancelled']],
  raiseOnly: [],
});

const run = (taskKey: string, ...dependsOn: string[]): object => ({
  spec: { agent: 'a', group: 'g', taskKey, dependsOn },
});
const fields = (...runs: object[]): string[] => agentRunBatch.check(runs).map(({ field }) => field);

test('a list: a task key is unique in its group', (t) => {
  t.deepEqual(fields(run('a'), run('b')), []);
  t.deepEqual(fields(run('a'), run('b'), run('a')), ['items[2].spec.taskKey']);
  t.deepEqual(fields(run('a'), { spec: { group: 'other', taskKey: 'a' } }), []);
});

test('a list: a run waits for what stands earlier, or is not in the list at all', (t) => {
  t.deepEqual(fields(run('a'), run('b', 'a', 'older')), []);
  t.deepEqual(fields(run('b', 'older', 'a'), run('a')), ['items[0].spec.dependsOn[1]']);
});

test('a list: whatever else a run is leaves it to its own rules', (t) => {
  t.deepEqual(fields({}, { spec: null }, { spec: { group: 1, taskKey: 'a', dependsOn: 'a' } }), []);
});
