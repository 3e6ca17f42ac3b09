/** Measures the list of a whole collection, to its last byte. */
import { z } from 'zod';
import type { Part } from '../figure.js';
import { ask, unexpected } from '../load.js';
import { round, Sample } from '../numbers.js';
import { SERVICE_ACCOUNT } from '../objects.js';
import { fill } from './plain.js';

const OBJECTS = 10_000;
const TIMES = 7;

const listed = z.object({ items: z.array(z.unknown()) });

export const list: Part = {
  name: 'list',
  about: `GET of a collection of ${OBJECTS} objects of 2 KB, without a limit`,
  async run(context) {
    const service = await context.fresh();
    await fill(service, SERVICE_ACCOUNT, OBJECTS);
    const took = new Sample();
    let bytes = 0;
    for (let n = 0; n < TIMES; n += 1) {
      const { status, body, ms } = await ask(service, service.request('GET', service.path(SERVICE_ACCOUNT.plural)));
      if (status !== 200) throw unexpected(status, body, 200);
      const { items } = listed.parse(JSON.parse(body.toString('utf8')));
      // The project's own `default` is there as well.
      if (items.length !== OBJECTS + 1) throw new Error(`the list holds ${items.length} objects, not ${OBJECTS + 1}`);
      bytes = body.length;
      took.add(ms);
    }
    const [best = Number.NaN, p50 = Number.NaN] = took.quantiles(0, 0.5);
    return [
      { name: 'list of 10,000, p50', value: round(p50), unit: 'ms', atMost: 150, kubernetes: 518 },
      { name: 'list of 10,000, best', value: round(best), unit: 'ms' },
      { name: 'list of 10,000, bytes', value: bytes, unit: 'bytes' },
    ];
  },
};
