/** Lists in pages, at both ends of collections of two sizes; many at once; and compressed. */
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import type { Part, PartContext } from '../figure.js';
import { call, unexpected } from '../load.js';
import { round, Sample } from '../numbers.js';
import { DESCRIBED_ACCOUNT } from '../objects.js';
import { peakOf } from '../peak.js';
import type { Service } from '../service.js';
import { fill } from './plain.js';

const FEW = 10_000;
const MANY = 100_000;
const LIMIT = 500;
const TIMES = 7;
const PAGERS = 8;

const listed = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  items: z.array(z.unknown()),
});

export const pages: Part = {
  name: 'pages',
  about: `lists of ${FEW} and ${MANY} objects of 2 KB in pages of ${LIMIT}, and compressed`,
  async run(context) {
    const service = await context.fresh();
    await fill(service, DESCRIBED_ACCOUNT, FEW);
    const [whole, walk, few] = [new Sample(), new Sample(), { first: new Sample(), last: new Sample() }];
    for (let n = 0; n < TIMES; n += 1) {
      whole.add((await list(service, '', {})).ms);
      walk.add(await walkPages(service, few));
    }
    const packed = await compressed(service);
    context.log(`${FEW} are measured`);
    await fill(service, DESCRIBED_ACCOUNT, MANY - FEW, { from: FEW });
    const many = { first: new Sample(), last: new Sample() };
    for (let n = 0; n < TIMES; n += 1) await walkPages(service, many);
    context.log(`${MANY} are measured`);
    const pagers = await together(context, service);
    const ms = (sample: Sample): number => sample.quantiles(0.5)[0] ?? Number.NaN;
    const page = (both: Ends): number => (ms(both.first) + ms(both.last)) / 2;
    const ends = (both: Ends): number => Math.max(ms(both.first) / ms(both.last), ms(both.last) / ms(both.first));
    return [
      { name: 'list of 10,000 without a limit, p50', value: round(ms(whole)), unit: 'ms' },
      { name: 'list of 10,000 in pages, p50', value: round(ms(walk)), unit: 'ms', kubernetes: 540 },
      { name: 'in pages over without a limit', value: round(ms(walk) / ms(whole), 2), unit: 'ratio', atMost: 2 },
      { name: 'first page of 10,000, p50', value: round(ms(few.first)), unit: 'ms' },
      { name: 'last page of 10,000, p50', value: round(ms(few.last)), unit: 'ms' },
      { name: 'the slower one over the other, 10,000', value: round(ends(few), 2), unit: 'ratio', atMost: 2 },
      { name: 'first page of 100,000, p50', value: round(ms(many.first)), unit: 'ms' },
      { name: 'last page of 100,000, p50', value: round(ms(many.last)), unit: 'ms' },
      {
        name: 'page of 100,000 over that of 10,000',
        value: round(page(many) / page(few), 2),
        unit: 'ratio',
        atMost: 1.5,
      },
      { name: `memory that ${PAGERS} pagers at once add`, value: round(pagers), unit: 'MiB', atMost: 60 },
      { name: 'compressed list of 10,000, p50', value: round(ms(packed.took)), unit: 'ms' },
      { name: 'compressed over plain', value: round(ms(packed.took) / ms(whole), 2), unit: 'ratio', atMost: 4 },
      { name: 'bytes of the compressed list', value: round(packed.share * 100), unit: '%', atMost: 15 },
    ];
  },
};

interface Ends {
  readonly first: Sample;
  readonly last: Sample;
}

async function list(
  service: Service,
  query: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly body: Buffer; readonly ms: number }> {
  const start = performance.now();
  const request = service.request('GET', service.path(DESCRIBED_ACCOUNT.plural) + query, undefined, headers);
  const { status, body } = await call(service, request);
  if (status !== 200) throw unexpected(status, body, 200);
  return { body, ms: performance.now() - start };
}

/** ms of all pages, without what the client takes to read them. */
async function walkPages(service: Service, ends: Ends): Promise<number> {
  let took = 0;
  let last = Number.NaN;
  let query = `?limit=${LIMIT}`;
  for (let n = 0; ; n += 1) {
    const { body, ms } = await list(service, query, {});
    took += ms;
    const { metadata, items } = listed.parse(JSON.parse(body.toString('utf8')));
    if (n === 0) ends.first.add(ms);
    // The very last one may be short.
    if (items.length === LIMIT) last = ms;
    if (metadata.continue === undefined) {
      ends.last.add(last);
      return took;
    }
    query = `?limit=${LIMIT}&continue=${metadata.continue}`;
  }
}

async function compressed(service: Service): Promise<{ readonly took: Sample; readonly share: number }> {
  const took = new Sample();
  let share = Number.NaN;
  for (let n = 0; n < TIMES; n += 1) {
    const { body, ms } = await list(service, '', { 'Accept-Encoding': 'gzip' });
    took.add(ms);
    share = body.length / gunzipSync(body).length;
  }
  return { took, share };
}

/** MiB above what the service had before. */
async function together(context: PartContext, service: Service): Promise<number> {
  const before = (await service.memory()).service;
  const unused = { first: new Sample(), last: new Sample() };
  const walks = Promise.all(Array.from({ length: PAGERS }, () => walkPages(service, unused)));
  const most = await peakOf(service, walks);
  context.log(`${PAGERS} pagers at once are measured`);
  return most - before;
}
