/** Measures how fast the OpenAPI document is served, the first time and then. */
import type { Part } from '../figure.js';
import { ask, unexpected } from '../load.js';
import { round, Sample } from '../numbers.js';

const TIMES = 50;

export const openapi: Part = {
  name: 'openapi',
  about: '/openapi.json on a new connection each, to its last byte',
  async run(context) {
    const service = await context.fresh();
    const took = new Sample();
    const request = service.request('GET', '/openapi.json');
    const read = async (): Promise<{ readonly bytes: number; readonly ms: number }> => {
      const { status, body, ms } = await ask(service, request);
      if (status !== 200) throw unexpected(status, body, 200);
      return { bytes: body.length, ms };
    };
    const first = await read();
    for (let n = 0; n < TIMES; n += 1) took.add((await read()).ms);
    const [p50 = Number.NaN, p99 = Number.NaN] = took.quantiles(0.5, 0.99);
    return [
      { name: 'OpenAPI document, p50', value: round(p50), unit: 'ms', atMost: 20 },
      { name: 'OpenAPI document, p99', value: round(p99), unit: 'ms' },
      { name: 'OpenAPI document, the first time', value: round(first.ms), unit: 'ms' },
      { name: 'OpenAPI document, bytes', value: first.bytes, unit: 'bytes' },
    ];
  },
};
