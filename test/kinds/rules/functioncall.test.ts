/** Both sides of every rule of FunctionCall. */
import test from 'ava';
import { functionCallKind } from '../../../src/kinds/functioncall/index.js';
import { MAX_INLINE_BYTES } from '../../../src/kinds/functioncall/schema.js';
import { at, objectOf, refusalOf } from '../decide.js';
import { DIGEST } from './samples.js';
import { holdRules } from './table.js';

/** JSON of exactly so many bytes. */
const json = (bytes: number): string => 'a'.repeat(bytes - 2);

holdRules(test, {
  kind: functionCallKind,
  least: { function: 'quote' },
  defaults: [['spec.state', 'Running']],
  limits: [
    { rule: 'a Function is named', within: [], beyond: [['spec.function', undefined]] },
    { rule: 'a Function has a possible name', within: [['spec.function', 'a-1']], beyond: [['spec.function', 'A_1']] },
    { rule: 'a method has a name of Python', within: [['spec.method', '_a1']], beyond: [['spec.method', 'a.b']] },
    { rule: 'an input is a blob or inline', within: [['spec.input', { blob: DIGEST }]], beyond: [['spec.input', {}]] },
    {
      rule: 'an input is not both',
      within: [['spec.input', { inline: [1, { a: null }] }]],
      beyond: [['spec.input', { blob: DIGEST, inline: [] }]],
      field: 'spec.input.inline',
    },
    {
      rule: 'null is an input',
      within: [['spec.input', { inline: null }]],
      beyond: [['spec.input', { inline: null, blob: DIGEST }]],
      field: 'spec.input.inline',
    },
    {
      rule: 'an input of 256 KiB',
      within: [['spec.input', { inline: json(MAX_INLINE_BYTES) }]],
      beyond: [['spec.input', { inline: json(MAX_INLINE_BYTES + 1) }]],
      field: 'spec.input.inline',
    },
    {
      rule: 'a blob is a digest',
      within: [['spec.input', { blob: DIGEST }]],
      beyond: [['spec.input', { blob: 'sha256:a' }]],
      field: 'spec.input.blob',
    },
    { rule: 'a group of 63', within: [['spec.group', 'a'.repeat(63)]], beyond: [['spec.group', 'a'.repeat(64)]] },
    { rule: 'a group can be a label', within: [['spec.group', 'A.b_c']], beyond: [['spec.group', '-a']] },
    { rule: 'an index from 0', within: [['spec.index', 0]], beyond: [['spec.index', -1]] },
    { rule: 'some time', within: [['spec.timeout', '1ms']], beyond: [['spec.timeout', '0s']] },
    { rule: 'state is a known word', within: [['spec.state', 'Cancelled']], beyond: [['spec.state', 'Stopped']] },
  ],
  immutable: [
    ['spec.function', 'a', 'b'],
    ['spec.method', 'a', 'b'],
    ['spec.input', { inline: 1 }, { inline: 2 }],
    ['spec.group', 'a', 'b'],
    ['spec.index', 0, 1],
    ['spec.timeout', '1m', '2m'],
  ],
  mutable: [['spec.state', 'Running', 'Cancelled']],
  raiseOnly: [],
});

test('FunctionCall: its Function is looked for, and its absence has a code of its own', (t) => {
  t.deepEqual(functionCallKind.references?.(objectOf(functionCallKind, { function: 'quote' })), [
    { field: 'spec.function', kind: 'Function', name: 'quote', reason: 'FunctionNotFound' },
  ]);
});

test('FunctionCall: what is cancelled does not run again', (t) => {
  const running = objectOf(functionCallKind, { function: 'quote' });
  const cancelled = objectOf(functionCallKind, { function: 'quote', state: 'Cancelled' });
  t.is(refusalOf(functionCallKind, at(running), { type: 'Updated', before: cancelled }), 'Invalid');
  t.is(refusalOf(functionCallKind, at(cancelled), { type: 'Updated', before: running }), 'Next');
});
