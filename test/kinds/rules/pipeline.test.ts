/** Both sides of every rule of Pipeline. The rules of a stage's template are those of Job. */
import test from 'ava';
import { pipelineKind } from '../../../src/kinds/pipeline/index.js';
import { holdRules, type Change } from './table.js';

const template = { command: ['true'] };
const stages = (...more: object[]): Change[] => [['spec.stages', [{ name: 'a', template }, ...more]]];
const next = (more: object): Change[] => stages({ name: 'b', template, ...more });

holdRules(test, {
  kind: pipelineKind,
  least: { stages: [{ name: 'a', template }] },
  defaults: [
    ['spec.failurePolicy', 'FailFast'],
    ['spec.state', 'Running'],
    // What a template leaves out is for `defaults` to say.
    ['spec.stages[0].template', template],
  ],
  limits: [
    { rule: 'there is a stage', within: stages(), beyond: [['spec.stages', []]] },
    {
      rule: 'at most 256 stages',
      within: [['spec.stages', Array.from({ length: 256 }, (_, i) => ({ name: `s${i}`, template }))]],
      beyond: [['spec.stages', Array.from({ length: 257 }, (_, i) => ({ name: `s${i}`, template }))]],
    },
    {
      rule: 'a policy for failures',
      within: [['spec.failurePolicy', 'Continue']],
      beyond: [['spec.failurePolicy', 'Ignore']],
    },
    { rule: 'at least one at a time', within: [['spec.maxParallel', 1]], beyond: [['spec.maxParallel', 0]] },
    { rule: 'at most 256 at a time', within: [['spec.maxParallel', 256]], beyond: [['spec.maxParallel', 257]] },
    { rule: 'a cap is an amount', within: [['spec.maxCostUSD', '1']], beyond: [['spec.maxCostUSD', 'much']] },
    { rule: 'the states', within: [['spec.state', 'Cancelled']], beyond: [['spec.state', 'Stopped']] },
    { rule: 'Suspended is a state', within: [['spec.state', 'Suspended']], beyond: [['spec.state', 'Paused']] },
    {
      rule: 'it is kept for no negative time',
      within: [['spec.ttlSecondsAfterFinished', 0]],
      beyond: [['spec.ttlSecondsAfterFinished', -1]],
    },
    {
      rule: 'no stage deletes its Job',
      within: stages({ name: 'b', template: { ...template, timeout: '1h' } }),
      beyond: stages({ name: 'b', template: { ...template, ttlSecondsAfterFinished: 60 } }),
      field: 'spec.stages[1].template.ttlSecondsAfterFinished',
    },
    {
      rule: 'no stage has a state of its own',
      within: stages({ name: 'b', template: { ...template, state: 'Running' } }),
      beyond: stages({ name: 'b', template: { ...template, state: 'Cancelled' } }),
      field: 'spec.stages[1].template.state',
    },
    {
      rule: 'a time limit and its alias say the same',
      within: stages({ name: 'b', template: { ...template, timeout: '9s', activeDeadlineSeconds: 9 } }),
      beyond: stages({ name: 'b', template: { ...template, timeout: '9s', activeDeadlineSeconds: 1 } }),
      field: 'spec.stages[1].template.activeDeadlineSeconds',
    },
    {
      rule: 'what a stage and the defaults make together is valid',
      within: [
        ['spec.defaults', { network: { egress: { policy: 'AllowList', allow: ['example.org'] } } }],
        ...stages({ name: 'b', template: { ...template, network: { egress: { presets: [] } } } }),
      ],
      beyond: [
        ['spec.defaults', { network: { egress: { policy: 'AllowList', allow: ['example.org'] } } }],
        ...stages({ name: 'b', template: { ...template, network: { egress: { policy: 'Open' } } } }),
      ],
      field: 'spec.stages[1].template.network.egress.allow',
    },
    {
      rule: 'what the defaults say wrong for a stage is theirs to mend',
      within: [['spec.defaults.image', 'svc/agent-tools']],
      beyond: [['spec.defaults.image', 'svc/no-such-image']],
      field: 'spec.defaults.image',
    },
    {
      rule: 'what a stage says wrong over the defaults is its own to mend',
      within: [['spec.defaults.image', 'svc/agent-tools'], ...stages({ name: 'b', template })],
      beyond: [
        ['spec.defaults.image', 'svc/agent-tools'],
        ...stages({ name: 'b', template: { ...template, image: 'svc/no-such-image' } }),
      ],
      field: 'spec.stages[1].template.image',
    },
    {
      rule: 'what is wrong in the resources of the defaults is not said of stages that have some of their own',
      within: [
        ['spec.defaults.resources', { cpu: '2' }],
        ...stages({ name: 'b', template: { ...template, resources: { memory: '1Gi' } } }),
      ],
      beyond: [
        ['spec.defaults.resources', { cpu: 'many' }],
        ...stages({ name: 'b', template: { ...template, resources: { memory: '1Gi' } } }),
      ],
      field: 'spec.defaults.resources.cpu',
      alone: true,
    },
    {
      rule: 'what is wrong in the resources of a stage is said once, whatever the defaults have',
      within: [
        ['spec.defaults.resources', { cpu: '2' }],
        ...stages({ name: 'b', template: { ...template, resources: { memory: '1Gi' } } }),
      ],
      beyond: [
        ['spec.defaults.resources', { cpu: '2' }],
        ...stages({ name: 'b', template: { ...template, resources: { memory: 'all' } } }),
      ],
      field: 'spec.stages[1].template.resources.memory',
      alone: true,
    },
    {
      rule: 'no default deletes the Jobs',
      within: [['spec.defaults.timeout', '1h']],
      beyond: [['spec.defaults.ttlSecondsAfterFinished', 60]],
    },
    {
      rule: 'stages have labels for names',
      within: stages({ name: 'b-1', template }),
      beyond: stages({ name: 'B', template }),
      field: 'spec.stages[1].name',
    },
    {
      rule: 'names of stages are unique',
      within: stages({ name: 'b', template }),
      beyond: stages({ name: 'a', template }),
      field: 'spec.stages[1].name',
    },
    {
      rule: 'a stage depends on stages',
      within: next({ dependsOn: ['a'] }),
      beyond: next({ dependsOn: ['c'] }),
      field: 'spec.stages[1].dependsOn[0]',
    },
    {
      rule: 'a stage depends on another once',
      within: next({ dependsOn: ['a'] }),
      beyond: next({ dependsOn: ['a', 'a'] }),
      field: 'spec.stages[1].dependsOn[1]',
    },
    {
      rule: 'no stage waits for itself',
      within: next({ dependsOn: ['a'] }),
      beyond: next({ dependsOn: ['b'] }),
      field: 'spec.stages[1].dependsOn[0]',
    },
    {
      rule: 'no circle of stages, through inputs either',
      within: [
        [
          'spec.stages',
          [
            { name: 'a', template },
            { name: 'b', template, inputs: [{ name: 'x', fromStage: 'a' }] },
          ],
        ],
      ],
      beyond: [
        [
          'spec.stages',
          [
            { name: 'a', template, dependsOn: ['b'] },
            { name: 'b', template, inputs: [{ name: 'x', fromStage: 'a' }] },
          ],
        ],
      ],
      field: 'spec.stages[1].inputs[0].fromStage',
    },
    {
      rule: 'an input needs a name',
      within: next({ inputs: [{ name: 'x', fromStage: 'a' }] }),
      beyond: next({ inputs: [{ fromStage: 'a' }] }),
      field: 'spec.stages[1].inputs[0].name',
    },
    {
      rule: 'an input has the name of one',
      within: next({ inputs: [{ name: 'x_1', fromStage: 'a' }] }),
      beyond: next({ inputs: [{ name: '1x', fromStage: 'a' }] }),
      field: 'spec.stages[1].inputs[0].name',
    },
    {
      rule: 'an input comes from a stage',
      within: next({ inputs: [{ name: 'x', fromStage: 'a' }] }),
      beyond: next({ inputs: [{ name: 'x' }] }),
      field: 'spec.stages[1].inputs[0].fromStage',
    },
    {
      rule: 'an input is an output of its stage',
      within: next({ inputs: [{ name: 'x', fromStage: 'a', output: 'outputs' }] }),
      beyond: next({ inputs: [{ name: 'x', fromStage: 'a', output: 'model' }] }),
      field: 'spec.stages[1].inputs[0].output',
    },
    {
      rule: 'inputs of a stage are unique, with those of its template',
      within: next({
        inputs: [{ name: 'x', fromStage: 'a' }],
        template: { ...template, inputs: [{ name: 'y', output: { job: 'j', name: 'o' } }] },
      }),
      beyond: next({
        inputs: [{ name: 'y', fromStage: 'a' }],
        template: { ...template, inputs: [{ name: 'y', output: { job: 'j', name: 'o' } }] },
      }),
      field: 'spec.stages[1].inputs[0].name',
    },
    {
      rule: 'a template may take from a stage that there is',
      within: next({
        template: { ...template, inputs: [{ name: 'x', fromStage: { stage: 'a', output: 'outputs' } }] },
      }),
      beyond: next({
        template: { ...template, inputs: [{ name: 'x', fromStage: { stage: 'c', output: 'outputs' } }] },
      }),
      field: 'spec.stages[1].template.inputs[0].fromStage.stage',
    },
    {
      rule: 'defaults take from no stage',
      within: [['spec.defaults.inputs', [{ name: 'x', output: { job: 'j', name: 'o' } }]]],
      beyond: [['spec.defaults.inputs', [{ name: 'x', fromStage: { stage: 'a', output: 'outputs' } }]]],
      field: 'spec.defaults.inputs[0].fromStage',
    },
    {
      rule: 'a stage needs a program, its own or that of the defaults',
      within: [
        ['spec.stages', [{ name: 'a' }]],
        ['spec.defaults.command', ['true']],
      ],
      beyond: [['spec.stages', [{ name: 'a' }]]],
      field: 'spec.stages[0].template.command',
    },
    {
      rule: 'a template laid over the defaults holds the rules of a Job',
      within: [
        ['spec.defaults.completions', 4],
        ['spec.stages[0].template.parallelism', 4],
      ],
      beyond: [
        ['spec.defaults.completions', 4],
        ['spec.stages[0].template.parallelism', 5],
      ],
      field: 'spec.stages[0].template.parallelism',
    },
    {
      rule: 'a field of the defaults holds the rules of a Job',
      within: [['spec.defaults.backoffLimit', 100]],
      beyond: [['spec.defaults.backoffLimit', 101]],
    },
    {
      rule: 'a field of a template holds the rules of a Job',
      within: [['spec.stages[0].template.backoffLimit', 0]],
      beyond: [['spec.stages[0].template.backoffLimit', -1]],
    },
  ],
  immutable: [
    ['spec.defaults.timeout', '1h', '2h'],
    ['spec.failurePolicy', 'FailFast', 'Continue'],
    ['spec.stages[0].template.command', ['true'], ['false']],
  ],
  mutable: [
    ['spec.maxParallel', 1, 2],
    ['spec.state', 'Running', 'Cancelled'],
    ['spec.ttlSecondsAfterFinished', 1, 0],
  ],
  raiseOnly: [['spec.maxCostUSD', '1.00', '1.01']],
});
