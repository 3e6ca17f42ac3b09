/** Projects: born with an identity, gone only when empty, whatever order the messages come in. */
import test from 'ava';
import * as fc from 'fast-check';
import type { ObjectMessage } from '../../../src/kinds/object-message.js';
import type { Message } from '../../../src/kinds/machine.js';
import { namespaceKind } from '../../../src/kinds/project/index.js';
import { CONTENT_FINALIZER } from '../../../src/kinds/project/machine.js';
import type { NamespaceStatus } from '../../../src/kinds/project/schema.js';
import { ask, at, decided, NOW, objectOf, owner, refusalOf, type Stored } from '../decide.js';

const project = (name: string, more: object = {}) => objectOf(namespaceKind, {}, { name, ...more });
const going = (name: string) =>
  project(name, { deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: [CONTENT_FINALIZER] });

function told(message: ObjectMessage): Message {
  const address = { org: 'o-1', kind: 'Namespace', project: '', name: 'team' };
  return { type: 'MessageReceived', from: { address, uid: 'uid-0', version: 1 }, content: message };
}
const collected = (remaining: number): Message => told({ type: 'ProjectCollected', project: 'team', remaining });

test('a project is born Active, held by its content, with ServiceAccount default', (t) => {
  const made = decided(namespaceKind, at(project('team')), { type: 'Created', by: owner });
  t.deepEqual(made.object.status, { phase: 'Active' });
  t.deepEqual(made.object.metadata.finalizers, [CONTENT_FINALIZER]);
  t.like(made.effects[0], { type: 'CreateChild', kind: 'ServiceAccount', name: 'default', project: 'team' });
});

test('the catalog is born without an identity, since nothing acts in it', (t) => {
  t.deepEqual(decided(namespaceKind, at(project('svc')), { type: 'Created', by: owner }).effects, []);
});

test('a name that is no DNS label is refused', (t) => {
  for (const name of ['a.b', 'x'.repeat(64)])
    t.is(refusalOf(namespaceKind, at(project(name)), { type: 'Created' }), 'Invalid');
});

test('the catalog and the default project cannot be deleted, and the catalog not be written', (t) => {
  t.is(refusalOf(namespaceKind, at(project('svc')), { type: 'DeletionRequested', by: owner }), 'Forbidden');
  t.is(refusalOf(namespaceKind, at(project('default')), { type: 'DeletionRequested', by: owner }), 'Forbidden');
  t.is(
    refusalOf(namespaceKind, at(project('svc')), { type: 'Updated', before: project('svc'), by: owner }),
    'Forbidden',
  );
});

test('a client cannot take the finalizer away, alive or going', (t) => {
  for (const before of [going('team'), project('team', { finalizers: [CONTENT_FINALIZER] })]) {
    const object = { ...before, metadata: { ...before.metadata, finalizers: [] } };
    const after = decided(namespaceKind, at(object), { type: 'Updated', before, by: owner });
    t.deepEqual(after.object.metadata.finalizers, [CONTENT_FINALIZER]);
  }
});

test('deletion collects until nothing remains, and only then lets go', (t) => {
  const asked = decided(namespaceKind, at(going('team')), { type: 'DeletionRequested', by: owner });
  t.like(asked.object.status, { phase: 'Terminating' });
  t.deepEqual(asked.effects, [{ type: 'CollectProject', project: 'team' }]);
  const some = decided(namespaceKind, asked, collected(3));
  t.deepEqual(some.effects, [{ type: 'ArmTimer', timer: 'collect', at: NOW + 1000 }]);
  t.deepEqual(some.object.metadata.finalizers, [CONTENT_FINALIZER]);
  const again = decided(namespaceKind, some, { type: 'TimerFired', timer: 'collect', generation: 1 });
  t.deepEqual(again.effects, [{ type: 'CollectProject', project: 'team' }]);
  const empty = decided(namespaceKind, again, collected(0));
  t.deepEqual(empty.object.metadata.finalizers, []);
  t.deepEqual(empty.effects, [{ type: 'DeleteSelf' }]);
});

test("another's finalizer holds the project after it is empty", (t) => {
  const object = going('team');
  const held = { ...object, metadata: { ...object.metadata, finalizers: ['example.org/audit', CONTENT_FINALIZER] } };
  const empty = decided(namespaceKind, at(held), collected(0));
  t.deepEqual(empty.object.metadata.finalizers, ['example.org/audit']);
  t.deepEqual(empty.effects, []);
});

test('once its content is proven gone, no write to a project under deletion adds the finalizer again', (t) => {
  const object = going('team');
  const held = { ...object, metadata: { ...object.metadata, finalizers: ['example.org/audit', CONTENT_FINALIZER] } };
  const some = decided(namespaceKind, at({ ...held, status: { phase: 'Terminating' } }), collected(2));
  const empty = decided(namespaceKind, some, collected(0));
  t.like((empty.object.status as NamespaceStatus).conditions?.[0], { type: 'ContentRemaining', status: 'False' });

  const { finalizers: _, ...metadata } = empty.object.metadata;
  const cleared = at({ ...empty.object, metadata });
  const released = decided(namespaceKind, cleared, { type: 'Updated', before: empty.object, by: owner });
  t.deepEqual(released.object.metadata.finalizers ?? [], []);
  const labelled = decided(namespaceKind, empty, { type: 'Updated', before: empty.object, by: owner });
  t.deepEqual(labelled.object.metadata.finalizers, ['example.org/audit']);
  const again = decided(namespaceKind, empty, { type: 'DeletionRequested', by: owner });
  t.deepEqual(again.object.metadata.finalizers, ['example.org/audit']);
  t.deepEqual(again.effects, []);
  t.is(ask(namespaceKind, empty, { type: 'Activated' }).outcome, 'Ignored');
});

test('a project under deletion whose passes have ended is collected again when it is activated', (t) => {
  const stuck = at({ ...going('team'), status: { phase: 'Terminating' } });
  const woken = decided(namespaceKind, stuck, { type: 'Activated' });
  t.deepEqual(woken.effects, [{ type: 'CollectProject', project: 'team' }]);
  t.deepEqual(decided(namespaceKind, woken, collected(0)).effects, [{ type: 'DeleteSelf' }]);
  t.is(ask(namespaceKind, at(project('team')), { type: 'Activated' }).outcome, 'Ignored');
  t.false(namespaceKind.machine.isTerminal?.(stuck.object.status), 'it is woken at a start');
  t.true(namespaceKind.machine.isTerminal?.({ phase: 'Active' }));
});

test('a pass that failed is made again', (t) => {
  const effect = { type: 'CollectProject', project: 'team' } as const;
  const after = decided(namespaceKind, at(going('team')), { type: 'EffectFailed', effect, reason: 'x', message: 'x' });
  t.like(after.effects[0], { type: 'ArmTimer', timer: 'collect' });
  const failed = { type: 'EffectFailed', reason: 'x', message: 'x' } as const;
  t.is(ask(namespaceKind, at(project('team')), { ...failed, effect }).outcome, 'Ignored', 'nothing is going');
  const other = { type: 'CreateChild', kind: 'ServiceAccount', project: 'team', name: 'default', spec: {} } as const;
  t.is(ask(namespaceKind, at(going('team')), { ...failed, effect: other }).outcome, 'Ignored', 'it was no pass');
});

test('answers that come when nothing is going change nothing', (t) => {
  const made = decided(namespaceKind, at(project('team')), { type: 'Created', by: owner });
  for (const message of [
    collected(0),
    collected(2),
    { type: 'TimerFired', timer: 'collect', generation: 1 } as const,
  ]) {
    t.is(ask(namespaceKind, made, message).outcome, 'Ignored');
  }
});

test('in any order of messages, a project goes only after an answer that nothing remains, and never gets stuck', (t) => {
  const step = fc.oneof(
    fc.constant<Message>({ type: 'TimerFired', timer: 'collect', generation: 1 }),
    fc.nat({ max: 2 }).map(collected),
    fc.constant<Message>({ type: 'Activated' }),
    fc.constant<Message>({ type: 'Updated', before: going('team'), by: owner }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (messages) => {
      let stored: Stored = decided(namespaceKind, at(going('team')), { type: 'DeletionRequested', by: owner });
      for (const message of messages) {
        const decision = ask(namespaceKind, stored, message);
        if (decision.outcome !== 'Next') continue;
        const after = decided(namespaceKind, stored, message);
        const empty =
          message.type === 'MessageReceived' &&
          message.content.type === 'ProjectCollected' &&
          message.content.remaining === 0;
        if (after.effects.some((effect) => effect.type === 'DeleteSelf') !== empty) return false;
        if (empty) return true;
        // Whoever heard that something remains has a next pass under way.
        if (message.type === 'MessageReceived' && after.effects.length === 0) return false;
        stored = after;
      }
      return stored.object.metadata.finalizers?.includes(CONTENT_FINALIZER) === true;
    }),
  );
  t.pass();
});
