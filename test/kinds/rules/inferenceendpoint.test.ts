/** Both sides of every rule of InferenceEndpoint, and the names that a model goes by. */
import test from 'ava';
import { inferenceEndpointKind } from '../../../src/kinds/inferenceendpoint/index.js';
import { holdRules, type Change } from './table.js';

const both = (path: string, within: unknown, beyond: unknown): { within: Change[]; beyond: Change[] } => ({
  within: [[`spec.${path}`, within]],
  beyond: [[`spec.${path}`, beyond]],
});

holdRules(test, {
  kind: inferenceEndpointKind,
  least: { model: 'echo' },
  defaults: [
    ['spec.state', 'Running'],
    ['spec.limits', { maxConcurrent: 4, rpm: 60 }],
  ],
  limits: [
    { rule: 'a model is needed', within: [], beyond: [['spec.model', undefined]] },
    { rule: 'a model has a name', ...both('model', 'svc/echo', '') },
    { rule: 'the states', ...both('state', 'Stopped', 'Suspended') },
    { rule: 'any key of the org', ...both('allowedKeys', null, 'all') },
    { rule: 'keys have names', ...both('allowedKeys', ['ci'], ['']), field: 'spec.allowedKeys[0]' },
    { rule: 'a key stands once', ...both('allowedKeys', ['a', 'b'], ['a', 'a']), field: 'spec.allowedKeys[1]' },
    { rule: 'a deployment is empty', ...both('deployment', '', 'mine') },
    { rule: 'one request at least', ...both('limits.maxConcurrent', 1, 0) },
    { rule: '256 requests at most', ...both('limits.maxConcurrent', 256, 257) },
    { rule: 'one request a minute at least', ...both('limits.rpm', 1, 0) },
    { rule: '100,000 requests a minute at most', ...both('limits.rpm', 100_000, 100_001) },
    { rule: 'one token a minute at least', ...both('limits.tpm', 1, 0) },
    { rule: 'a cap is an amount', ...both('maxCostUSD', '0', '-1') },
  ],
  immutable: [['spec.deployment', '', undefined]],
  mutable: [
    ['spec.model', 'echo', 'svc/echo'],
    ['spec.state', 'Running', 'Stopped'],
    ['spec.allowedKeys', ['a'], null],
    ['spec.limits.rpm', 10, 20],
  ],
  raiseOnly: [['spec.maxCostUSD', '1.00', '1.01']],
});

test('a model is found by its name, its id and its aliases, and by no other name', (t) => {
  const metadata = { name: 'e', uid: 'u', generation: 1, creationTimestamp: '2026-01-02T03:04:05Z' };
  const model = (text: string): boolean | undefined => {
    const spec = inferenceEndpointKind.schema.spec.parse({ model: text });
    const endpoint = { apiVersion: '', kind: 'InferenceEndpoint', metadata, spec, status: {} };
    const [reference] = inferenceEndpointKind.references?.(endpoint) ?? [];
    t.like(reference, { kind: 'Model', project: 'svc', name: text.replace('svc/', '') });
    const found = { id: 'acme/chat-1', aliases: ['chat'] };
    return reference?.meant?.({ apiVersion: '', kind: 'Model', metadata, spec: found, status: {} });
  };
  t.deepEqual([model('acme/chat-1'), model('chat'), model('svc/echo'), model('cha')], [true, true, false, false]);
});
