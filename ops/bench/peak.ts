/** The most memory that the service's process has while something goes on. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from './service.js';

const LOOK_MS = 100;

/** MiB resident at most, looked at ten times a second. */
export async function peakOf(service: Service, work: Promise<unknown>): Promise<number> {
  let over = false;
  const end = (): void => void (over = true);
  work.then(end, end);
  let most = 0;
  while (!over) {
    most = Math.max(most, (await service.memory()).service);
    await sleep(LOOK_MS);
  }
  await work;
  return most;
}
