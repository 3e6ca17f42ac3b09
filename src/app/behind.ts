/** What `/readyz` says of work that waits too long. I13: the age of what waits is what counts. */
import type { Actors } from '../../actors/open.js';
import type { Webhooks } from '../../actors/delivery/open.js';

/** Work that waits longer than this is behind, ms. */
const BEHIND_MS = 30_000;

export function workBehind(actors: Pick<Actors, 'health'>, webhooks: Pick<Webhooks, 'state'>): readonly string[] {
  const { oldestMessageMs, oldestEffectMs, oldestCommitMs } = actors.health();
  const waits: readonly (readonly [number, (seconds: number) => string])[] = [
    [oldestCommitMs, (seconds) => `a commit has been waiting for ${seconds} s`],
    [oldestMessageMs, (seconds) => `a message has been waiting for ${seconds} s`],
    [oldestEffectMs, (seconds) => `an effect was last tried ${seconds} s ago`],
    [webhooks.state().idleMs, (seconds) => `events have not been delivered for ${seconds} s`],
  ];
  return waits.flatMap(([ms, say]) => (ms > BEHIND_MS ? say(Math.round(ms / 1_000)) : []));
}
