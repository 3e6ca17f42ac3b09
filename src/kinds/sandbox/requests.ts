/**
 * Owns what is asked of a Sandbox once, by an annotation with a value of the client's choice: `<group>/request-start`, `-stop`
 * and `-restart`. `status.handledRequests` names the last value of each that was carried out.
 */
import type { Author } from '../../api/access/author.js';
import { API_GROUP } from '../../brand.js';
import { stoppedBy } from '../single-attempt/stopped-by.js';
import type { SandboxDraft } from './draft.js';
import type { Request } from './state.js';

const START = `${API_GROUP}/request-start`;
const STOP = `${API_GROUP}/request-stop`;
const RESTART = `${API_GROUP}/request-restart`;

/** Takes up what is asked now and was not asked before. */
export function takeRequests(draft: SandboxDraft, by: Author | undefined): void {
  const { annotations = {} } = draft.object.metadata;
  for (const name of [START, STOP, RESTART]) {
    const value = annotations[name];
    if (value === undefined || value === draft.status.handledRequests?.[name]) continue;
    if (draft.private.requests[name]?.value === value) continue;
    draft.keep({ requests: { ...draft.private.requests, [name]: { value, epoch: draft.private.epoch } } });
    if (name === STOP) {
      draft.stop('Requested', stoppedBy(by));
    } else {
      draft.state = 'Running';
      draft.keep({ failure: undefined });
    }
  }
}

/** The present Attempt has to make room for another. */
export function mustRestart({ live, private: { requests } }: SandboxDraft): boolean {
  const asked = requests[RESTART];
  return asked !== undefined && live !== undefined && live.epoch <= asked.epoch;
}

/** Notes what has been carried out by now; what can no longer be is forgotten. */
export function reconcileRequests(draft: SandboxDraft): void {
  const open: Record<string, Request> = {};
  const handled: Record<string, string> = {};
  for (const [name, request] of Object.entries(draft.private.requests)) {
    if (isDone(draft, name, request)) handled[name] = request.value;
    else if ((name === STOP) === (draft.state === 'Stopped')) open[name] = request;
  }
  if (Object.keys(open).length === Object.keys(draft.private.requests).length) return;
  draft.keep({ requests: open });
  if (Object.keys(handled).length > 0) {
    draft.say({ handledRequests: { ...draft.status.handledRequests, ...handled } });
  }
}

function isDone({ live, state }: SandboxDraft, name: string, { epoch }: Request): boolean {
  if (name === STOP) return state === 'Stopped' && live === undefined;
  return live?.phase === 'Running' && !live.stopping && (name === START || live.epoch > epoch);
}
