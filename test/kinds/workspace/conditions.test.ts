import test from 'ava';
import { workspaceKind } from '../../../src/kinds/workspace/index.js';
import type { WorkspaceStatus } from '../../../src/kinds/workspace/schema.js';
import { at, decided, objectOf } from '../decide.js';

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
