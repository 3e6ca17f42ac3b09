/** Measures the memory that stays resident with many objects that no client uses: of the service's process, and beside it of Postgres. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure, Part, PartContext } from '../figure.js';
import { round } from '../numbers.js';
import { SERVICE_ACCOUNT } from '../objects.js';
import { fill } from './plain.js';

/** The setting for these runs, so that they end; the default is a minute. */
const PASSIVATION_SECONDS = 5;
/** After the last write: passivation, with its sweep, and a collection of garbage (s). */
const SETTLE_SECONDS = 25;

export const memory: Part = {
  name: 'memory',
  about: 'resident memory with 10,000 and 100,000 objects of 2 KB, once they are idle',
  async run(context) {
    return [
      ...(await measure(context, 0, undefined, undefined)),
      ...(await measure(context, 10_000, 250, 1_021)),
      ...(await measure(context, 100_000, 700, undefined)),
    ];
  },
};

async function measure(
  context: PartContext,
  objects: number,
  atMost: number | undefined,
  kubernetes: number | undefined,
): Promise<Figure[]> {
  const service = await context.fresh({ env: { TROUPE_PASSIVATION_SECONDS: String(PASSIVATION_SECONDS) } });
  if (objects > 0) await fill(service, SERVICE_ACCOUNT, objects);
  const full = await service.memory();
  await sleep(SETTLE_SECONDS * 1_000);
  const idle = await service.memory();
  await service.stop();
  const count = objects.toLocaleString('en');
  return [
    { name: `resident with ${count} objects, idle`, value: round(idle.service), unit: 'MiB', atMost, kubernetes },
    { name: `resident with ${count} objects, just created`, value: round(full.service), unit: 'MiB' },
    { name: `Postgres with ${count} objects`, value: round(idle.postgres), unit: 'MiB' },
  ];
}
