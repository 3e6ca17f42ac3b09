/** Both sides of every rule of Sweep. The rules of the template are those of Job. */
import test from 'ava';
import { sweepKind } from '../../../src/kinds/sweep/index.js';
import { holdRules } from './table.js';

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}`);
const gpus = (count: number): string[] => numbered(count).map((i) => `h${i}:8`);

/** More than 128 KiB as JSON, though each value is short enough and there are no more than 32. */
const longParams = (): object =>
  Object.fromEntries(numbered(32).map((index) => [`P${index}`, ['\u0001'.repeat(4096)]]));

holdRules(test, {
  kind: sweepKind,
  least: { template: { spec: { command: ['true'] } } },
  defaults: [
    ['spec.maxParallel', 4],
    ['spec.repetitions', 1],
    ['spec.state', 'Running'],
    ['spec.template.kind', 'Job'],
    ['spec.template.spec.completions', 1],
  ],
  limits: [
    { rule: 'a template is needed', within: [], beyond: [['spec.template', undefined]] },
    { rule: 'the template is a Job', within: [['spec.template.kind', 'Job']], beyond: [['spec.template.kind', 'Pod']] },
    {
      rule: 'the template holds the rules of a Job',
      within: [['spec.template.spec.completions', 10_000]],
      beyond: [['spec.template.spec.completions', 10_001]],
    },
    {
      rule: 'the Job of the template needs a program',
      within: [['spec.template.spec.command', ['true']]],
      beyond: [['spec.template.spec.command', undefined]],
    },
    {
      rule: 'a cell is no stage',
      within: [['spec.template.spec.inputs', [{ name: 'a', output: { job: 'b', name: 'c' } }]]],
      beyond: [['spec.template.spec.inputs', [{ name: 'a', fromStage: { stage: 'b', output: 'c' } }]]],
      field: 'spec.template.spec.inputs[0].fromStage',
    },
    {
      rule: 'no cell deletes itself',
      within: [['spec.template.spec.timeout', '1h']],
      beyond: [['spec.template.spec.ttlSecondsAfterFinished', 60]],
    },
    {
      rule: 'no cell has a state of its own',
      within: [['spec.template.spec.state', 'Running']],
      beyond: [['spec.template.spec.state', 'Suspended']],
    },
    {
      rule: 'a value can be a variable',
      within: [['spec.matrix.params', { LR: ['0.1'] }]],
      beyond: [['spec.matrix.params', { LR: ['0.1\0'] }]],
      field: 'spec.matrix.params.LR[0]',
    },
    {
      rule: 'the parameters of a cell fit into its Job',
      within: [['spec.matrix.params', { A: ['x'.repeat(4096)] }]],
      beyond: [['spec.matrix.params', longParams()]],
      field: 'spec.matrix.params',
    },
    {
      rule: 'a region is a region class',
      within: [['spec.matrix.regions', ['eu-central']]],
      beyond: [['spec.matrix.regions', ['eu central']]],
      field: 'spec.matrix.regions[0]',
    },
    { rule: 'at least one cell at a time', within: [['spec.maxParallel', 1]], beyond: [['spec.maxParallel', 0]] },
    { rule: 'at most 256 cells at a time', within: [['spec.maxParallel', 256]], beyond: [['spec.maxParallel', 257]] },
    { rule: 'at least one repetition', within: [['spec.repetitions', 1]], beyond: [['spec.repetitions', 0]] },
    { rule: 'at most 64 repetitions', within: [['spec.repetitions', 64]], beyond: [['spec.repetitions', 65]] },
    { rule: 'the states', within: [['spec.state', 'Cancelled']], beyond: [['spec.state', 'Stopped']] },
    { rule: 'Suspended is a state', within: [['spec.state', 'Suspended']], beyond: [['spec.state', 'suspended']] },
    { rule: 'a cap is an amount', within: [['spec.maxCostUSD', '0.00']], beyond: [['spec.maxCostUSD', '-0.01']] },
    {
      rule: 'at most 16 accelerators',
      within: [['spec.matrix.gpu', gpus(16)]],
      beyond: [['spec.matrix.gpu', gpus(17)]],
    },
    {
      rule: 'an accelerator is family:count',
      within: [['spec.matrix.gpu', ['h100:8']]],
      beyond: [['spec.matrix.gpu', ['h100']]],
      field: 'spec.matrix.gpu[0]',
    },
    {
      rule: 'there are 1, 2, 4 or 8 of an accelerator',
      within: [['spec.matrix.gpu', ['h100:1', 'h100:2', 'h100:4', 'h100:8']]],
      beyond: [['spec.matrix.gpu', ['h100:3']]],
      field: 'spec.matrix.gpu[0]',
    },
    {
      rule: 'an accelerator stands once',
      within: [['spec.matrix.gpu', ['h100:1', 'a100:1']]],
      beyond: [['spec.matrix.gpu', ['h100:1', 'h100:1']]],
      field: 'spec.matrix.gpu[1]',
    },
    {
      rule: 'parameters have upper-case names',
      within: [['spec.matrix.params', { LR_2: ['1e-4'] }]],
      beyond: [['spec.matrix.params', { lr: ['1e-4'] }]],
      field: 'spec.matrix.params.lr',
    },
    {
      rule: 'values are texts',
      within: [['spec.matrix.params', { LR: ['1'] }]],
      beyond: [['spec.matrix.params', { LR: [1] }]],
      field: 'spec.matrix.params.LR[0]',
    },
    {
      rule: 'a value stands once',
      within: [['spec.matrix.params', { LR: ['1', '2'] }]],
      beyond: [['spec.matrix.params', { LR: ['1', '1'] }]],
      field: 'spec.matrix.params.LR[1]',
    },
    {
      rule: 'regions narrow those of the template',
      within: [
        ['spec.matrix.regions', ['eu']],
        ['spec.template.spec.placement.regions', ['eu', 'us']],
      ],
      beyond: [
        ['spec.matrix.regions', ['eu', 'asia']],
        ['spec.template.spec.placement.regions', ['eu', 'us']],
      ],
      field: 'spec.matrix.regions[1]',
    },
    {
      rule: 'at most 10,000 cells',
      within: [
        ['spec.matrix.params', { A: numbered(100), B: numbered(50) }],
        ['spec.repetitions', 2],
      ],
      beyond: [
        ['spec.matrix.params', { A: numbered(100), B: numbered(51) }],
        ['spec.repetitions', 2],
      ],
      field: 'spec.matrix',
    },
  ],
  immutable: [
    ['spec.matrix.gpu', ['h100:1'], ['h100:2']],
    ['spec.matrix.params', { A: ['1'] }, { A: ['2'] }],
    ['spec.matrix.regions', ['eu'], ['us']],
    ['spec.repetitions', 1, 2],
    ['spec.template.spec.command', ['true'], ['false']],
    ['spec.template.spec.timeout', '1h', '2h'],
  ],
  mutable: [
    ['spec.maxParallel', 4, 5],
    ['spec.state', 'Running', 'Suspended'],
  ],
  raiseOnly: [['spec.maxCostUSD', '1.00', '2.50']],
});
