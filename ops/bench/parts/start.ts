/** Measures the time from the creation of the process until /readyz answers 200: on an empty data directory, and on a used one. */
import type { Part } from '../figure.js';
import { round, Sample } from '../numbers.js';
import { newDataDir, removeDataDir, startService } from '../service.js';

const WARM_STARTS = 5;

export const start: Part = {
  name: 'start',
  about: 'start to ready: the first one after install, and later ones',
  async run() {
    const dir = await newDataDir();
    try {
      const first = await startService({ dir });
      await first.stop();
      const warm = new Sample();
      for (let n = 0; n < WARM_STARTS; n += 1) {
        const service = await startService({ dir });
        warm.add(service.startMs);
        await service.stop();
      }
      const [p50 = Number.NaN] = warm.quantiles(0.5);
      return [
        { name: 'first start to ready', value: round(first.startMs), unit: 'ms', atMost: 15_000 },
        { name: 'warm start to ready, p50', value: round(p50), unit: 'ms', atMost: 3_000 },
      ];
    } finally {
      await removeDataDir(dir);
    }
  },
};
