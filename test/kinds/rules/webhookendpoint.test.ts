/** Both sides of every rule of WebhookEndpoint. */
import test from 'ava';
import { rotationInput } from '../../../src/kinds/webhookendpoint/schema.js';
import { webhookEndpointKind } from '../../../src/kinds/webhookendpoint/index.js';
import { holdRules } from './table.js';

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `job.t${index}`);

holdRules(test, {
  kind: webhookEndpointKind,
  least: { url: 'https://example.com/hooks' },
  defaults: [
    ['spec.enabled', true],
    ['spec.eventTypes', undefined],
    ['spec.projects', undefined],
  ],
  limits: [
    { rule: 'the address is required', within: [], beyond: [['spec.url', undefined]] },
    {
      rule: 'the address is https',
      within: [['spec.url', 'https://example.com']],
      beyond: [['spec.url', 'http://example.com']],
    },
    {
      rule: 'the address carries no credentials',
      within: [['spec.url', 'https://example.com/a?b=c']],
      beyond: [['spec.url', 'https://u:p@example.com/']],
    },
    {
      rule: 'event types are types, prefixes or a star',
      within: [['spec.eventTypes', ['job.failed', 'job.*', '*']]],
      beyond: [['spec.eventTypes', ['job.failed', 'job*']]],
      field: 'spec.eventTypes[1]',
    },
    {
      rule: 'a star stands for the whole reason',
      within: [['spec.eventTypes', ['billing.*']]],
      beyond: [['spec.eventTypes', ['job.fail*']]],
      field: 'spec.eventTypes[0]',
    },
    {
      rule: 'at most 128 patterns',
      within: [['spec.eventTypes', many(128)]],
      beyond: [['spec.eventTypes', many(129)]],
    },
    {
      rule: 'projects are names',
      within: [['spec.projects', ['default']]],
      beyond: [['spec.projects', ['Not a name']]],
      field: 'spec.projects[0]',
    },
    {
      rule: 'the description has at most 1024 characters',
      within: [['spec.description', 'a'.repeat(1024)]],
      beyond: [['spec.description', 'a'.repeat(1025)]],
    },
  ],
  immutable: [],
  mutable: [
    ['spec.url', 'https://a.example', 'https://b.example'],
    ['spec.description', 'a', 'b'],
    ['spec.enabled', true, false],
    ['spec.eventTypes', ['job.*'], ['*']],
    ['spec.projects', ['a'], ['b']],
  ],
  raiseOnly: [],
});

test('the old secret goes on for a day unless said otherwise, and for 7 days at most', (t) => {
  t.is(rotationInput.parse({}).previousSecretTTL, '24h');
  t.true(rotationInput.safeParse({ previousSecretTTL: '168h' }).success);
  t.false(rotationInput.safeParse({ previousSecretTTL: '168h1s' }).success);
  t.true(rotationInput.safeParse({ previousSecretTTL: '0s' }).success);
});
