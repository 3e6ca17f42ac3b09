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
    { rule: 'the description is text', within: [['spec.description', 'ci']], beyond: [['spec.description', 1]] },
  ],
  immutable: [],
  mutable: [
    ['spec.description', 'a', 'b'],
    ['spec.scopes', ['jobs:read'], ['jobs:write']],
  ],
  raiseOnly: [],
});
