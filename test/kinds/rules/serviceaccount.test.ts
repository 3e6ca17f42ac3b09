/** Both sides of every rule of ServiceAccount. */
import test from 'ava';
import { serviceAccountKind } from '../../../src/kinds/serviceaccount/index.js';
import { holdRules } from './table.js';

holdRules(test, {
  kind: serviceAccountKind,
  least: {},
  defaults: [],
  limits: [
    {
      rule: 'scopes are known ones',
      within: [['spec.scopes', ['jobs:read']]],
      beyond: [['spec.scopes', ['jobs:fly']]],
      field: 'spec.scopes[0]',
    },
    {
      rule: 'at most 128 scopes',
      within: [['spec.scopes', Array(128).fill('jobs:read')]],
      beyond: [['spec.scopes', Array(129).fill('jobs:read')]],
    },
    { rule: 'scopes may be null', within: [['spec.scopes', null]], beyond: [['spec.scopes', 'jobs:read']] },
    {
      rule: 'the description has at most 1024 characters',
      within: [['spec.description', 'a'.repeat(1024)]],
      beyond: [['spec.description', 'a'.repeat(1025)]],
    },
    { rule: 'the description is text', within: [['spec.description', 'ci']], beyond: [['spec.description', 1]] },
  ],
  immutable: [],
  mutable: [
    ['spec.description', 'a', 'b'],
    ['spec.scopes', ['jobs:read'], ['jobs:write']],
  ],
  raiseOnly: [],
});
