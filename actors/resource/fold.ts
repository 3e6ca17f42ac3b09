/**
 * The fold: a busy actor takes the internal messages that wait, decides them one after another over one draft, and
 * commits once. A client's write ends the fold, so it keeps its own version, changes row and answer.
 */
import type { Mailbox, Delivery, Item } from '../mailbox.js';
import { applyMessage, openDraft } from './draft.js';
import { load, type Present } from './incarnation.js';
import type { ActorDeps, Self } from './self.js';
import { commitDraft } from './commit-draft.js';

/** Messages decided in one commit at most: bounds the time for which a client's write waits behind a fold. */
const MAX_FOLD = 512;

type MessageItem = Extract<Item, { item: 'message' }>;

/**
 * Takes internal messages from the mailbox and settles each. `taken` receives every item before it is decided, so that
 * the caller can settle them when this throws.
 */
export async function handleFold(self: Self, mailbox: Mailbox, deps: ActorDeps, taken: MessageItem[]): Promise<void> {
  if (self.state.at === 'Unknown') self.state = await load(self.address, self.kind, deps);
  const present = self.state;
  const context = deps.decisionContext();
  if (present.at !== 'Present') {
    takeMessages(mailbox, taken, MAX_FOLD);
    settleAll(taken, 'Absent');
    return;
  }
  const draft = openDraft(self.address, present.version, present.object, present.private, present.sideState);
  /** Timers whose firing this fold has not seen yet. */
  let armed: Map<string, number> | undefined;
  while (taken.length < MAX_FOLD) {
    const next = takeMessage(mailbox, taken);
    if (!next) break;
    if (next.uid !== undefined && next.uid !== present.uid) {
      taken.pop();
      next.settle('Absent');
      continue;
    }
    if (next.message.type === 'TimerFired') {
      const { timer, generation } = next.message;
      armed ??= await readTimers(self, present, deps);
      if (armed.get(timer) !== generation) continue; // of an earlier arming, or dealt with
      armed.delete(timer);
    }
    applyMessage(draft, self.kind, next.message, context); // a refusal has no reader: the message is ignored
  }
  const settled = await commitDraft(self, draft, deps);
  switch (settled.outcome) {
    case 'Written':
    case 'Unchanged':
      settleAll(taken, 'Done'); // I2
      return;
    default:
      settleAll(taken, 'Retry');
  }
}

async function readTimers(self: Self, present: Present, deps: ActorDeps): Promise<Map<string, number>> {
  const timers = present.timers ?? (await deps.objects.timers(self.address.org, present.uid));
  self.state = { ...present, timers };
  return new Map(timers);
}

function takeMessage(mailbox: Mailbox, taken: MessageItem[]): MessageItem | undefined {
  const next = mailbox.peek();
  if (next?.item !== 'message') return undefined;
  mailbox.shift();
  taken.push(next);
  return next;
}

function takeMessages(mailbox: Mailbox, taken: MessageItem[], limit: number): void {
  while (taken.length < limit && takeMessage(mailbox, taken)) {
    // all of them are settled together
  }
}

function settleAll(taken: MessageItem[], delivery: Delivery): void {
  for (const item of taken) item.settle(delivery);
  taken.length = 0;
}
