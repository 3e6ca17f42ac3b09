/** What happens next in the small world, from one number of a scenario. */
import type { World } from './world.js';

/** Usually some lane, report or program goes on; sometimes a timer, a repeat, a loss, a crash, or `client` by the rest of the number. */
export function turn(world: World, number: number, client: (pick: number) => void): void {
  const kind = number % 20;
  const pick = Math.floor(number / 20);
  if (kind === 19) world.crash();
  else if (kind >= 17) world.repeat(pick);
  else if (kind === 16) world.tick();
  else if (kind === 14) world.lose(pick);
  else if (kind === 15) client(pick);
  else {
    const choices = world.choices();
    choices[pick % Math.max(1, choices.length)]?.();
  }
}
