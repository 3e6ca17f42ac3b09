/** Both sides of every rule of CloudAccount. */
import test from 'ava';
import { cloudAccountKind } from '../../../src/kinds/cloudaccount/index.js';
import { holdRules, type Change } from './table.js';

/** The least spec at the other provider. */
const atCloudB: readonly Change[] = [
  ['spec.provider', 'CloudB'],
  ['spec.cloudA', undefined],
  ['spec.cloudB', { projectIds: [] }],
];

holdRules(test, {
  kind: cloudAccountKind,
  least: { provider: 'CloudA', cloudA: { accountId: '123456789012' } },
  defaults: [
    ['spec.observe', ['Inventory', 'GPUs', 'Spend']],
    ['spec.sync', { interval: '1h' }],
    ['spec.cloudA.regions', undefined],
  ],
  limits: [
    { rule: 'the provider is required', within: [], beyond: [['spec.provider', undefined]] },
    { rule: 'the provider is known', within: atCloudB, beyond: [['spec.provider', 'CloudC']] },
    { rule: 'the block of the provider is required', within: [], beyond: [['spec.cloudA', undefined]] },
    { rule: 'another block is not allowed', within: [], beyond: [['spec.cloudB', { projectIds: [] }]] },
    {
      rule: 'CloudB needs its own block',
      within: atCloudB,
      beyond: [
        ['spec.cloudB', undefined],
        ['spec.provider', 'CloudB'],
      ],
    },
    {
      rule: 'a block that is not allowed is told of beside what else is wrong',
      within: [],
      beyond: [
        ['spec.cloudB', { projectIds: [] }],
        ['spec.cloudA.accountId', '1'],
        ['spec.sync.interval', '1m'],
      ],
    },
    { rule: 'the account is required', within: [], beyond: [['spec.cloudA.accountId', undefined]] },
    {
      rule: 'the account has 12 digits and no more',
      within: [['spec.cloudA.accountId', '000000000000']],
      beyond: [['spec.cloudA.accountId', '0000000000000']],
    },
    {
      rule: 'the account has 12 digits and no fewer',
      within: [['spec.cloudA.accountId', '000000000000']],
      beyond: [['spec.cloudA.accountId', '00000000000']],
    },
    {
      rule: 'the account has digits only',
      within: [],
      beyond: [['spec.cloudA.accountId', '12345678901a']],
    },
    {
      rule: 'regions and the role are text',
      within: [
        ['spec.cloudA.regions', []],
        ['spec.cloudA.roleArn', 'arn:role/reader'],
      ],
      beyond: [['spec.cloudA.regions', 'east']],
    },
    {
      rule: 'access by workload identity is refused',
      within: [...atCloudB, ['spec.cloudB.method', 'OAuth']],
      beyond: [['spec.cloudB.method', 'WorkloadIdentity'], ...atCloudB.slice(0, 2)],
    },
    {
      rule: 'projects are required, and may be empty',
      within: atCloudB,
      beyond: [
        ['spec.cloudB.projectIds', undefined],
        ['spec.cloudB.method', 'OAuth'],
        ['spec.provider', 'CloudB'],
        ['spec.cloudA', undefined],
      ],
    },
    {
      rule: 'what is observed is known',
      within: [['spec.observe', ['GPUs']]],
      beyond: [['spec.observe', ['Secrets']]],
      field: 'spec.observe[0]',
    },
    {
      rule: 'read every 15m at most',
      within: [['spec.sync.interval', '15m']],
      beyond: [['spec.sync.interval', '14m59s']],
    },
    {
      rule: 'read every 24h at least',
      within: [['spec.sync.interval', '24h']],
      beyond: [['spec.sync.interval', '24h1s']],
    },
  ],
  immutable: [['spec.provider', 'CloudA', 'CloudB', ...atCloudB.slice(1)]],
  mutable: [
    ['spec.cloudA.accountId', '123456789012', '210987654321'],
    ['spec.cloudA.regions', ['a'], ['b']],
    ['spec.observe', ['GPUs'], ['Spend']],
    ['spec.sync.interval', '1h', '2h'],
  ],
  raiseOnly: [],
});
