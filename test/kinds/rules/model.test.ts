/** Both sides of every rule of Model. Only the service writes one, from the catalog's file. */
import test from 'ava';
import { modelKind } from '../../../src/kinds/model/index.js';
import { holdRules, type Change } from './table.js';

const both = (path: string, within: unknown, beyond: unknown): { within: Change[]; beyond: Change[] } => ({
  within: [[`spec.${path}`, within]],
  beyond: [[`spec.${path}`, beyond]],
});

holdRules(test, {
  kind: modelKind,
  least: {},
  defaults: [],
  limits: [
    { rule: 'an id is what a request may name', ...both('id', 'acme/chat-1:latest', 'acme chat') },
    { rule: 'an alias is what a request may name', ...both('aliases', ['chat'], ['']), field: 'spec.aliases[0]' },
    { rule: 'an alias stands once', ...both('aliases', ['a', 'b'], ['a', 'a']), field: 'spec.aliases[1]' },
    { rule: 'tokens are counted', ...both('contextTokens', 0, -1) },
    { rule: 'answers are counted', ...both('maxOutputTokens', 0, 0.5) },
    { rule: 'images are counted', ...both('imageTokenAllowance', 0, -1) },
    { rule: 'its end is a time', ...both('deprecationTime', '2027-01-01T00:00:00Z', '2027') },
    ...['jsonSchema', 'promptCaching', 'reasoning', 'streaming', 'tools'].map((what) => ({
      rule: `${what} is there or not`,
      ...both(`capabilities.${what}`, true, 'yes'),
    })),
    ...['input', 'output'].map((way) => ({
      rule: `what is its ${way}`,
      ...both(`modalities.${way}`, ['Text', 'Image', 'Audio', 'Embedding'], ['Video']),
      field: `spec.modalities.${way}[0]`,
    })),
    {
      rule: 'operations are routes',
      ...both('operations', ['/v1/chat/completions'], ['chat']),
      field: 'spec.operations[0]',
    },
    {
      rule: 'an operation stands once',
      ...both('operations', ['/v1/a'], ['/v1/a', '/v1/a']),
      field: 'spec.operations[1]',
    },
    { rule: 'it is a preview or not', ...both('preview', true, 1) },
    { rule: 'seconds are not negative', ...both('pricing.audioMinimumSeconds', 0, -1) },
    ...[
      'audioPerSecondUSD',
      'cacheReadPerMillionTokensUSD',
      'cacheWritePerMillionTokensUSD',
      'inputPerMillionTokensUSD',
      'outputPerMillionTokensUSD',
      'speechPerMillionCharactersUSD',
    ].map((price) => ({ rule: `${price} is an amount`, ...both(`pricing.${price}`, '0.01', '-0.01') })),
  ],
  immutable: [],
  mutable: [
    ['spec.pricing.inputPerMillionTokensUSD', '1', '2'],
    ['spec.aliases', ['a'], ['b']],
  ],
  raiseOnly: [],
});

test('a Model that nothing serves says so', (t) => {
  const metadata = { name: 'm', uid: 'u', generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' };
  const status = modelKind.initialStatus({ apiVersion: '', kind: 'Model', metadata, spec: {}, status: {} });
  const why = { status: 'False', reason: 'UpstreamUnavailable' };
  t.like(status, {
    available: false,
    phase: 'Pending',
    conditions: [
      { type: 'Ready', ...why },
      { type: 'Available', ...why },
    ],
  });
});
