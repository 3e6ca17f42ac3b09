/** Both sides of every rule of Secret. */
import test from 'ava';
import { secretKind } from '../../../src/kinds/secret/index.js';
import { holdRules } from './table.js';

const keys = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`K${index}`, '']));

holdRules(test, {
  kind: secretKind,
  least: {},
  defaults: [
    ['spec.type', 'Opaque'],
    ['spec.data', undefined],
    ['spec.stringData', undefined],
  ],
  limits: [
    { rule: 'types are two', within: [['spec.type', 'Registry']], beyond: [['spec.type', 'TLS']] },
    {
      rule: 'data is base64',
      within: [['spec.data', { TOKEN: 'YQ==' }]],
      beyond: [['spec.data', { TOKEN: 'a' }]],
      field: 'spec.data.TOKEN',
    },
    {
      rule: 'stringData is any text',
      within: [['spec.stringData', { TOKEN: 'a' }]],
      beyond: [['spec.stringData', { TOKEN: 1 }]],
      field: 'spec.stringData.TOKEN',
    },
    {
      rule: 'keys are file names',
      within: [['spec.stringData', { 'a.b-c_D': '' }]],
      beyond: [['spec.stringData', { 'a/b': '' }]],
      field: 'spec.stringData[a/b]',
    },
    {
      rule: 'a key is no directory',
      within: [['spec.stringData', { '...': '' }]],
      beyond: [['spec.stringData', { '..': '' }]],
      field: 'spec.stringData[..]',
    },
    {
      rule: 'keys have at most 253 characters',
      within: [['spec.data', { ['a'.repeat(253)]: '' }]],
      beyond: [['spec.data', { ['a'.repeat(254)]: '' }]],
      field: `spec.data.${'a'.repeat(254)}`,
    },
    { rule: 'at most 256 keys', within: [['spec.data', keys(256)]], beyond: [['spec.data', keys(257)]] },
  ],
  immutable: [['spec.type', 'Opaque', 'Registry']],
  mutable: [['spec.stringData', { A: 'a' }, { A: 'b' }]],
  raiseOnly: [],
});
