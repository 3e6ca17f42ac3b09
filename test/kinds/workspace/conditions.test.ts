import test from 'ava';
import { sandboxKind } from '../../../src/kinds/sandbox/index.js';
import { volumeKind } from '../../../src/kinds/volume/index.js';
import { workspaceKind } from '../../../src/kinds/workspace/index.js';
import type { WorkspaceStatus } from '../../../src/kinds/workspace/schema.js';
import { ask, at, decided, objectOf, owner } from '../decide.js';

test('a Workspace that does not run has no way in by SSH, and says so where it had one', (t) => {
  const object = objectOf(workspaceKind, { ephemeral: true, state: 'Stopped' });
  const sshReady = (conditions: WorkspaceStatus['conditions']) => {
    const status = { ...(object.status as WorkspaceStatus), conditions };
    const stopped = decided(workspaceKind, at({ ...object, status }), { type: 'Created', by: undefined });
    const { phase, conditions: after } = stopped.object.status as WorkspaceStatus;
    t.is(phase, 'Stopped');
    return after?.find(({ type }) => type === 'SSHReady');
  };
  const before = { type: 'SSHReady', status: 'True', reason: 'Listening', message: '' } as const;
  t.like(sshReady([{ ...before, lastTransitionTime: '2026-01-01T00:00:00Z' }]), { status: 'False', reason: 'Stopped' });
  t.is(sshReady(undefined), undefined, 'of one that never ran nothing is said');
});

test("of a Workspace, Sandbox or Volume under deletion that is over, only another's finalizer is left after a write", (t) => {
  const finalizers = ['example.org/audit'];
  const going = { deletionTimestamp: '2026-01-02T00:00:00Z', finalizers };
  for (const [kind, spec] of [
    [workspaceKind, { ephemeral: true }],
    [sandboxKind, { image: 'python:3.12' }],
    [volumeKind, {}],
  ] as const) {
    const object = objectOf(kind, spec, going);
    const written = { type: 'Updated', before: object, by: owner } as const;
    for (const message of [written, { type: 'Activated' } as const]) {
      if (ask(kind, at(object), message).outcome === 'Ignored') continue;
      const after = decided(kind, at(object), message);
      t.deepEqual(after.object.metadata.finalizers, finalizers, kind.kind);
      t.deepEqual(after.effects, [], kind.kind);
    }
  }
});
