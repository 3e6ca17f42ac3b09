/** Owns what the end of a Workspace's Attempt means for its home: what was collected goes to the Volume. */
import { afterEnd, noteEnd, savedOf, type AttemptChanged } from '../single-attempt/ended.js';
import type { Live } from '../single-attempt/state.js';
import type { WorkspaceDraft } from './draft.js';
import { HOME_OUTPUT } from './plan.js';

export function attemptEnded(draft: WorkspaceDraft, live: Live, letter: AttemptChanged): void {
  noteEnd(draft, live);
  keepHome(draft, live, letter);
  if (!draft.deleting) afterEnd(draft, live, letter);
}

/** Saved is said once the Volume has it. */
function keepHome(draft: WorkspaceDraft, live: Live, letter: AttemptChanged): void {
  const { lease } = draft.private;
  if (lease?.at !== 'Granted' || lease.epoch !== live.epoch) return;
  const files = savedOf(HOME_OUTPUT, live, letter);
  switch (files.saved) {
    case 'Whole': {
      const { digest, size, time } = files;
      draft.keep({ lease: { ...lease, saved: { digest, size, time } } });
      return;
    }
    case 'Failed': {
      const { revision } = lease.home ?? {};
      const stands = revision === undefined ? 'the Volume is empty' : `revision ${revision} of the Volume stands`;
      draft.condition('StateSaved', false, files.reason, `${files.message}; ${stands}`);
      return;
    }
    case 'Nothing':
  }
}
