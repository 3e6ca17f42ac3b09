/** The status that a Workspace shows, from what its decision has come to. */
import type { PublicEndpoints } from '../machine.js';
import { BROWSER_TOOLS, type BrowserTool } from './browser-tools.js';
import { connectOf } from './connect.js';
import type { WorkspaceDraft } from './state.js';
import type { WorkspacePhase, WorkspaceStatus } from './schema.js';

interface Why {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export function reportStatus(
  draft: WorkspaceDraft,
  phase: WorkspacePhase,
  endpoints: PublicEndpoints | undefined,
): WorkspaceStatus {
  const why = explain(draft, phase);
  sayConditions(draft, phase, why);
  saySsh(draft, phase, endpoints);
  const { metadata, spec } = draft.object;
  const found = toolsFound(draft);
  const shown = spec.tools.filter((tool) => tool === 'SSH' || found.includes(BROWSER_TOOLS[tool]));
  return {
    ...draft.status,
    phase,
    reason: why.reason,
    message: why.message,
    observedGeneration: metadata.generation,
    connect: phase === 'Running' ? connectOf({ ...draft.self, uid: metadata.uid }, shown, endpoints) : undefined,
  };
}

/** None until it was looked. */
export function toolsFound({ live, private: { found } }: WorkspaceDraft): readonly BrowserTool[] {
  return found !== undefined && found.epoch === live?.epoch ? found.tools : [];
}

function explain(draft: WorkspaceDraft, phase: WorkspacePhase): Why {
  const { failure, lease, live, recovering } = draft.private;
  switch (phase) {
    case 'Failed':
      return failure ?? {};
    case 'Stopped':
      return { reason: draft.status.stopReason, message: draft.private.stopMessage };
    case 'Pending':
      if (draft.held) {
        return {
          reason: 'WaitingForSchedule',
          message: `it starts 15 minutes before ${draft.object.spec.schedule?.readyBy ?? ''}`,
        };
      }
      if (live?.wait !== undefined) return { reason: 'WaitingForCapacity', message: live.wait };
      if (lease?.at === 'Denied') return { reason: lease.reason, message: lease.message };
      return recovering ?? {};
    case 'Starting':
      return recovering ?? {};
    default:
      return {};
  }
}

function sayConditions(draft: WorkspaceDraft, phase: WorkspacePhase, { reason = phase, message = '' }: Why): void {
  const { live, recovering, failure } = draft.private;
  draft.condition('Ready', phase === 'Running', reason, message);
  draft.condition('Stopped', phase === 'Stopped', reason, message);
  const placed = live?.phase === 'Placed' || live?.phase === 'Running';
  if (placed) draft.condition('Scheduled', true, 'Placed', '');
  else draft.condition('Scheduled', false, reason, message);
  if (recovering === undefined) draft.condition('NodeUnreachable', false, placed ? 'Reached' : phase, '');
  else draft.condition('NodeUnreachable', true, recovering.reason, recovering.message);
  // What the last start has come to stands while it is stopped.
  if (phase === 'Running') draft.condition('SetupComplete', true, 'Ready', '');
  else if (phase === 'Pending' || phase === 'Starting') draft.condition('SetupComplete', false, reason, message);
  else if (failure !== undefined) draft.condition('SetupComplete', false, failure.reason, failure.message);
}

/**
 * A Workspace that runs without a way in by SSH is Ready all the same, and says why `status.connect` has no `ssh`. Of what does not run,
 * or has no SSH, it is said only where it was Ready before.
 */
function saySsh(draft: WorkspaceDraft, phase: WorkspacePhase, endpoints: PublicEndpoints | undefined): void {
  const isWanted = draft.object.spec.tools.includes('SSH');
  if (phase !== 'Running' || !isWanted) {
    const [reason, message] =
      phase === 'Running' ? ['NotWanted', 'spec.tools does not name SSH'] : [phase, `the Workspace is ${phase}`];
    const isSaid = draft.status.conditions?.some(({ type }) => type === 'SSHReady') === true;
    if (isSaid) draft.condition('SSHReady', false, reason, message);
    return;
  }
  if (endpoints === undefined) return;
  if (endpoints.ssh !== undefined) draft.condition('SSHReady', true, 'Listening', '');
  else if (endpoints.sshClosed !== undefined) {
    draft.condition('SSHReady', false, endpoints.sshClosed.reason, endpoints.sshClosed.message);
  }
}
