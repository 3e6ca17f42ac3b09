/** What the client of an owner has agreed to pay binds each of its Jobs, whenever that is made. */
import test from 'ava';
import type { Effect } from '../../../src/kinds/effect.js';
import { pipelineKind } from '../../../src/kinds/pipeline/index.js';
import { sweepKind } from '../../../src/kinds/sweep/index.js';
import { Owner } from './owner.js';

const JOB = { command: ['true'] };

const rates = (effects: readonly Effect[]): readonly (string | undefined)[] =>
  effects.flatMap((effect) =>
    effect.type === 'CreateChild'
      ? [(effect.spec as { placement?: { maxRateUSDPerHour?: string } }).placement?.maxRateUSDPerHour]
      : [],
  );

test('each cell may cost what was agreed to at the create, also one that begins later', (t) => {
  const owner = new Owner(sweepKind, { template: { spec: JOB }, repetitions: 3, maxParallel: 1 }, ['0.11']).note();
  t.deepEqual(rates(owner.effects), ['0.11']);
  owner.hear(0, 'Succeeded');
  t.deepEqual(rates(owner.effects), ['0.11']);
});

test('each stage has the rate of its own part, and a lower one of its own stays', (t) => {
  const placement = { maxRateUSDPerHour: '0.05' };
  const stages = [
    { name: 'a', template: JOB },
    { name: 'b', template: { ...JOB, placement } },
    { name: 'c', template: { ...JOB, placement: { maxRateUSDPerHour: '9.00' } } },
  ];
  t.deepEqual(rates(new Owner(pipelineKind, { stages }, ['0.11', '0.22', '0.33']).effects), ['0.11', '0.05', '0.33']);
});

test('without consent children are made as their template says', (t) => {
  t.deepEqual(rates(new Owner(sweepKind, { template: { spec: JOB } }).effects), [undefined]);
});
