/** What comes of a message, in words: for tables of what each message means in each state. */
import type { Effect } from '../../src/kinds/effect.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { Decision, Message } from '../../src/kinds/machine.js';
import { ask, contextAt, NOW, type Stored } from './decide.js';

/** An effect in a few words; times in seconds from NOW. */
export function say(effect: Effect): string {
  switch (effect.type) {
    case 'Tell': {
      const { message } = effect;
      if (message.type === 'PlaceWanted') return `PlaceWanted ${message.held}`;
      return message.type === 'DropAttempt' ? `DropAttempt ${message.graceSeconds}` : message.type;
    }
    case 'StopWork':
      return `StopWork ${effect.graceSeconds}`;
    case 'RemoveWork':
      return `RemoveWork ${effect.logs}`;
    case 'ArmTimer':
      return `ArmTimer ${effect.timer} ${(effect.at - NOW) / 1000}`;
    case 'CancelTimer':
      return `CancelTimer ${effect.timer}`;
    case 'Emit':
      return effect.event;
    default:
      return effect.type;
  }
}

export function sayAll(decision: Decision<unknown, unknown, unknown>): string {
  if (decision.outcome === 'Volatile') return decision.volatile.map(say).join(', ');
  return decision.outcome === 'Next' ? [...decision.effects, ...(decision.volatile ?? [])].map(say).join(', ') : '';
}

/** What changed of what `show` says of a status and what is kept beside it, and what is asked of others; `volatile` when nothing is stored. */
export function told(
  kind: KindDefinition,
  stored: Stored,
  message: Message,
  show: (status: unknown, kept: unknown) => string,
  now = NOW,
): string {
  const decision = ask(kind, stored, message, contextAt(now));
  if (decision.outcome === 'Volatile') return `volatile: ${sayAll(decision)}`;
  if (decision.outcome !== 'Next') return decision.outcome;
  const before = show(stored.object.status, stored.private);
  const after = show(decision.status, decision.private ?? stored.private);
  return before === after ? sayAll(decision) : `${after}: ${sayAll(decision)}`.trim();
}
