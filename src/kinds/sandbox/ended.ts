/**
 * Owns what the end of the one Attempt means: whether the files of /workspace were saved, and whether the Sandbox stops,
 * fails or is brought back. Source: spec, "Sandbox", "States and transitions".
 */
import { rfc3339 } from '../../api/time.js';
import { releaseOutputs } from '../single-attempt/attempts.js';
import { afterEnd, noteEnd, savedOf, type AttemptChanged } from '../single-attempt/ended.js';
import type { Live } from '../single-attempt/state.js';
import type { SandboxDraft } from './draft.js';
import { SNAPSHOT } from './plan.js';
import { WORKSPACE_DIR } from './schema.js';

export function attemptEnded(draft: SandboxDraft, live: Live, letter: AttemptChanged): void {
  noteEnd(draft, live);
  if (draft.deleting) return;
  keepFiles(draft, live, letter);
  afterEnd(draft, live, letter);
}

/** The older snapshot stands until a newer one is whole. */
function keepFiles(draft: SandboxDraft, live: Live, letter: AttemptChanged): void {
  if (draft.object.spec.continuity.mode !== 'Snapshotted') {
    // What an earlier mode has kept is of no use any more.
    if (draft.status.snapshot !== undefined) draft.say({ snapshot: undefined });
    return;
  }
  const files = savedOf(SNAPSHOT, live, letter);
  switch (files.saved) {
    case 'Whole': {
      const { digest, size, time } = files;
      draft.say({ snapshot: { reason: 'Stop', time: rfc3339(time), digest, size } });
      draft.effects.push(releaseOutputs(draft, letter.epoch));
      draft.condition('StateSaved', true, 'Saved', `${WORKSPACE_DIR} was saved`);
      return;
    }
    case 'Failed': {
      const { time } = draft.status.snapshot ?? {};
      const stands = time === undefined ? 'there is no earlier snapshot' : `the snapshot of ${time} stands`;
      draft.condition('StateSaved', false, files.reason, `${files.message}; ${stands}`);
      return;
    }
    case 'Nothing':
  }
}
