/** Both sides of every rule of Agent. */
import test from 'ava';
import { agentKind } from '../../../src/kinds/agent/index.js';
import { holdRules } from './table.js';

const BYOK = { access: 'BYOK', apiKeySecret: 'key', name: 'vendor-model-1' };

holdRules(test, {
  kind: agentKind,
  least: {},
  defaults: [
    ['spec.image', 'svc/agent-tools'],
    ['spec.maxTokens', 8192],
    ['spec.maxToolCalls', 50],
    ['spec.model', { access: 'Nodus-hosted' }],
    ['spec.perRunMaxCostUSD', '1.00'],
    ['spec.state', 'Running'],
  ],
  limits: [
    {
      rule: 'an image is one',
      within: [['spec.image', 'svc/workspace-cpu']],
      beyond: [['spec.image', 'Not An Image']],
    },
    { rule: 'an image is not empty', within: [['spec.image', 'a']], beyond: [['spec.image', '']] },
    { rule: 'zero tokens stand for the default', within: [['spec.maxTokens', 0]], beyond: [['spec.maxTokens', -1]] },
    { rule: 'tokens are whole', within: [['spec.maxTokens', 1]], beyond: [['spec.maxTokens', 1.5]] },
    {
      rule: 'zero calls stand for the default',
      within: [['spec.maxToolCalls', 0]],
      beyond: [['spec.maxToolCalls', -1]],
    },
    {
      rule: 'calls fit 32 bits',
      within: [['spec.maxToolCalls', 2 ** 31 - 1]],
      beyond: [['spec.maxToolCalls', 2 ** 31]],
    },
    {
      rule: 'a run may cost a cent',
      within: [['spec.perRunMaxCostUSD', '0.01']],
      beyond: [['spec.perRunMaxCostUSD', '0.009']],
    },
    {
      rule: 'a run may cost 1000',
      within: [['spec.perRunMaxCostUSD', '1000']],
      beyond: [['spec.perRunMaxCostUSD', '1000.01']],
    },
    { rule: 'the states', within: [['spec.state', 'Stopped']], beyond: [['spec.state', 'Suspended']] },
    {
      rule: 'a prompt of 64 KiB',
      within: [['spec.system', 'x'.repeat(65_536)]],
      beyond: [['spec.system', 'x'.repeat(65_537)]],
    },
    {
      rule: 'a prompt is measured in bytes',
      within: [['spec.system', 'é'.repeat(32_768)]],
      beyond: [['spec.system', 'é'.repeat(32_769)]],
    },
    { rule: 'the ways of access', within: [['spec.model', BYOK]], beyond: [['spec.model.access', 'Hosted']] },
    {
      rule: 'an own key needs its Secret',
      within: [['spec.model', BYOK]],
      beyond: [['spec.model', { ...BYOK, apiKeySecret: undefined }]],
      field: 'spec.model.apiKeySecret',
    },
    {
      rule: 'an own key needs a model',
      within: [['spec.model', BYOK]],
      beyond: [['spec.model', { ...BYOK, name: undefined }]],
      field: 'spec.model.name',
    },
    {
      rule: 'a hosted model takes no key',
      within: [['spec.model', BYOK]],
      beyond: [['spec.model.apiKeySecret', 'key']],
    },
    {
      rule: 'a hosted model is chosen by the router',
      within: [['spec.model', BYOK]],
      beyond: [['spec.model.name', 'vendor-model-1']],
    },
    {
      rule: 'the families',
      within: [['spec.model.families', ['haiku', 'sonnet', 'opus', 'fable']]],
      beyond: [['spec.model.families', ['verse']]],
      field: 'spec.model.families[0]',
    },
    {
      rule: 'a family stands once',
      within: [['spec.model.families', ['haiku']]],
      beyond: [['spec.model.families', ['haiku', 'haiku']]],
      field: 'spec.model.families[1]',
    },
    {
      rule: 'families are for hosted models',
      within: [['spec.model', { ...BYOK, families: [] }]],
      beyond: [['spec.model', { ...BYOK, families: ['opus'] }]],
      field: 'spec.model.families',
    },
  ],
  immutable: [],
  mutable: [
    ['spec.image', 'svc/agent-tools', 'svc/workspace-cpu'],
    ['spec.maxTokens', 1, 2],
    ['spec.maxToolCalls', 2, 1],
    ['spec.model', BYOK, { access: 'Nodus-hosted' }],
    ['spec.perRunMaxCostUSD', '2', '1'],
    ['spec.state', 'Running', 'Stopped'],
    ['spec.system', 'a', 'b'],
  ],
  raiseOnly: [],
});
