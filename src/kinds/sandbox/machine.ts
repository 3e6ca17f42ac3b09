/**
 * The behaviour of a Sandbox: takes each message into a draft, then lets `reconcile.ts` decide what follows.
 *
 *   Pending ─▶ Starting ─▶ Running ─▶ Stopping ─▶ Stopped ─▶ Pending … at the next epoch
 *                 │          │ lost: Recovering ─▶ Running at the next epoch
 *                 ▼          ▼
 *               Failed     Failed            any ─▶ Terminating ─▶ gone
 *
 * It has one Attempt at a time, and hears of it by `AttemptChanged`. Each message names its epoch and is compared with the
 * Attempt that is live, so one that is late or repeated changes nothing (I8). When the Sandbox is opened again it asks its
 * Attempt how it stands, which heals what a crash has dropped.
 */
import type { Author } from '../../api/access/author.js';
import { equalJson } from '../../api/equal.js';
import type { Decision, Machine, Message } from '../machine.js';
import { pinImage } from '../image/pin.js';
import { forgetTimer } from '../attempts/decision.js';
import { decisionOf, stoppedBy } from '../single-attempt/draft.js';
import { remindAttempt, handleFailedEffect, handleMessage } from '../single-attempt/handle-messages.js';
import { admit, payForStart } from '../single-attempt/funding.js';
import { openDraft, type Sandbox, type SandboxDraft, type SandboxPrivate } from './state.js';
import { attemptEnded, discard, reconcile, takeRequests } from './reconcile.js';
import { reportStatus } from './report-status.js';
import type { SandboxSpec, SandboxStatus } from './schema.js';

type SandboxDecision = Decision<SandboxStatus, SandboxPrivate, never>;

const IGNORED: SandboxDecision = { outcome: 'Ignored' };

export const sandboxMachine: Machine<SandboxSpec, SandboxStatus, SandboxPrivate, undefined, never> = {
  decide(current, _side, message, context) {
    const draft = openDraft(current, context);
    const { epoch } = draft.private;
    admit(draft, message);
    if (!take(draft, message)) return IGNORED;
    const phase = reconcile(draft);
    payForStart(draft, message, epoch);
    return decisionOf(current, draft, reportStatus(draft, phase), draft.live !== undefined);
  },
  // A stopped one needs its snapshot and will be deleted in time: something is always under way.
  isTerminal: () => false,
};

/** What a message changes by itself, before anything follows from it. False: it means nothing here. */
function take(draft: SandboxDraft, message: Message<SandboxSpec, SandboxStatus>): boolean {
  switch (message.type) {
    case 'Created':
      takeRequests(draft, message.by);
      return true;
    case 'Updated':
      takeUpdate(draft, message.before, message.by);
      return true;
    case 'DeletionRequested':
      return true;
    case 'Activated':
      remind(draft);
      return true;
    case 'TimerFired': {
      forgetTimer(draft, message.timer);
      if (message.timer === 'resync') remind(draft);
      return true;
    }
    case 'MessageReceived':
      if (message.content.type === 'ImagePinned') return noteImage(draft, message.content.digest);
      return handleMessage(draft, message.content, message.from.address.name, (live, change) =>
        attemptEnded(draft, live, change),
      );
    case 'EffectFailed':
      return handleFailedEffect(draft, message.effect, message.reason, message.message);
    default:
      return false; // an engine reports to Attempts, and a Sandbox has no actions
  }
}

/** Of whichever epoch the note is: the first holds for all. */
function noteImage(draft: SandboxDraft, digest: string): boolean {
  const image = pinImage(draft.object.spec.image, draft.status.image, digest);
  if (image !== undefined) draft.say({ image });
  return image !== undefined;
}

function remind(draft: SandboxDraft): void {
  remindAttempt(draft, draft.deleting ? (epoch) => discard(draft, epoch) : undefined);
}

function takeUpdate(draft: SandboxDraft, before: Sandbox, by: Author | undefined): void {
  const { spec } = draft.object;
  // Whatever was changed may have mended it, so it is tried again.
  if (!equalJson(spec, before.spec)) draft.keep({ failure: undefined, lost: 0, notBefore: undefined });
  if (spec.state === 'Stopped' && before.spec.state === 'Running') draft.stop('Requested', stoppedBy(by));
  takeRequests(draft, by);
}
