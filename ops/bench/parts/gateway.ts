/**
 * Measures the inference gateway against the upstream itself, against a proxy that only passes bytes on, and against Portkey's gateway, in one
 * run: the latency that each adds, requests a second, streams and their memory, and whether a cap can be overspent. Each of them, and the
 * upstream, is a process of its own.
 */
import type { Figure, Part, PartContext } from '../figure.js';
import { offer } from '../gateway/open-loop.js';
import { overspend } from '../gateway/overspend.js';
import { PORTKEY_VERSION, startPortkey, type Peer } from '../gateway/portkey.js';
import { startProgram, type Program } from '../gateway/program.js';
import { measureStreams, type StreamsOptions, type StreamsResult } from '../gateway/streams.js';
import { inTurn, plainTarget, type Chat, type Target } from '../gateway/target.js';
import { startTroupe } from '../gateway/troupe.js';
import { load, type LoadResult } from '../load.js';
import { round, Sample } from '../numbers.js';

const OFFERED_PER_SECOND = 300;
/** Targets take turns, so that what the machine does otherwise meets all of them. */
const TURNS = 3;
const TURN_SECONDS = 5;
/** Before each rate: programs are compiled while they are used, and the peer's takes thousands of requests to become as fast as it can. */
const WARM_REQUESTS = 5_000;
const WARM_MOST_SECONDS = 20;
/** What takes longer has failed. */
const MOST_PEER_MS = 120_000;
const STREAM_SECONDS = 15;
const STREAMS: readonly StreamsOptions[] = [
  { streams: 200, perSecond: 50, seconds: STREAM_SECONDS },
  { streams: 1_000, perSecond: 5, seconds: STREAM_SECONDS },
];
const PORTKEY = `Portkey ${PORTKEY_VERSION}`;
const CHAT: Chat = { model: 'fast', maxTokens: 64 };

const MOST_ADDED_P50_MS = 0.9;
const MOST_P99_OVER_BARE_MS = 6;
const LEAST_PER_SECOND = 2_800;
const LEAST_OVER_PORTKEY = 2;
const LEAST_DELIVERED_PERCENT = 95;
const MOST_GROWTH_OVER_BARE = 1.5;

export const gateway: Part = {
  name: 'gateway',
  about: 'chat completions through the inference gateway, beside their upstream, a bare proxy and Portkey',
  async run(context) {
    const upstream = await startProgram('upstream');
    try {
      return [...(await requests(context, upstream)), ...(await streams(context, upstream))];
    } finally {
      await upstream.stop();
    }
  },
};

// ── whole answers ──

async function requests(context: PartContext, upstream: Program): Promise<readonly Figure[]> {
  const bare = await startProgram('bare-proxy', upstream.port);
  const peer = await startPortkey(upstream.port, context.log);
  if (peer.outcome === 'Missing') context.log(`Portkey is not measured: ${peer.reason}`);
  try {
    const troupe = await startTroupe(context, upstream.port, ['fast']);
    try {
      const targets = {
        direct: plainTarget('direct', upstream),
        bare: plainTarget('bare proxy', bare),
        troupe: troupe.target,
      };
      const figures = [...(await rates(context, targets, peer)), ...(await latencies(context, targets, peer))];
      figures.push(...(await overspend(context, troupe)));
      await troupe.service.stop();
      return figures;
    } finally {
      await troupe.close();
    }
  } finally {
    await bare.stop();
    if (peer.outcome === 'Started') await peer.program.stop();
  }
}

interface Targets {
  readonly direct: Target;
  readonly bare: Target;
  readonly troupe: Target;
}

async function rates(context: PartContext, targets: Targets, peer: Peer): Promise<readonly Figure[]> {
  const { connections, warmUpSeconds, seconds } = context;
  const rateOf = async (target: Target): Promise<LoadResult> => {
    const request = inTurn(target.requests(CHAT));
    const loop = { connections, request, expect: 200 };
    await load(target, { ...loop, warmUpSeconds: 0, seconds: WARM_MOST_SECONDS, most: WARM_REQUESTS });
    const result = await load(target, { ...loop, warmUpSeconds, seconds });
    context.log(`${target.name}: ${result.perSecond} requests a second`);
    return result;
  };
  const bare = await rateOf(targets.bare);
  const portkey = await ofPeer(context, peer, rateOf);
  const troupe = await rateOf(targets.troupe);
  const name = (of: string): string => `requests at ${connections} connections, ${of}`;
  const micros = (of: string, value: number): Figure => ({ name: `${of}, processor time each`, value, unit: 'µs' });
  const ratio = (of: string, { perSecond }: LoadResult): Figure => ({
    name: `requests of Troupe over those of ${of}`,
    value: round(troupe.perSecond / perSecond, 2),
    unit: 'ratio',
  });
  return [
    { name: name('bare proxy'), value: bare.perSecond, unit: 'per second' },
    micros('bare proxy', bare.processorMicros.service),
    ...('measured' in portkey
      ? [
          { name: name(PORTKEY), value: portkey.measured.perSecond, unit: 'per second' as const },
          micros(PORTKEY, portkey.measured.processorMicros.service),
        ]
      : [missing(name(PORTKEY), portkey.reason)]),
    { name: name('Troupe'), value: troupe.perSecond, unit: 'per second', atLeast: LEAST_PER_SECOND },
    micros('Troupe', troupe.processorMicros.service),
    { name: 'Troupe, that of Postgres', value: troupe.processorMicros.postgres, unit: 'µs' },
    ratio('the bare proxy', bare),
    ...('measured' in portkey ? [{ ...ratio('Portkey', portkey.measured), atLeast: LEAST_OVER_PORTKEY }] : []),
  ];
}

type OfPeer<T> = { readonly measured: T } | { readonly reason: string };

/** Rejects never: what the peer cannot do leaves the others as they are. */
async function ofPeer<T>(
  context: PartContext,
  peer: Peer,
  measure: (target: Target) => Promise<T>,
): Promise<OfPeer<T>> {
  if (peer.outcome === 'Missing') return { reason: peer.reason };
  try {
    return { measured: await within(MOST_PEER_MS, measure(peer.target)) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    context.log(`Portkey: ${reason}`);
    return { reason };
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(`it was not through within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function missing(name: string, reason: string): Figure {
  return { name: `${name} (${reason.slice(0, 200).replaceAll('|', '/')})`, value: Number.NaN, unit: 'count' };
}

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

async function latencies(context: PartContext, targets: Targets, peer: Peer): Promise<readonly Figure[]> {
  const offered = (target: Target, seconds: number, sample: Sample): Promise<void> => {
    const request = inTurn(target.requests(CHAT));
    return offer({ port: target.port, perSecond: OFFERED_PER_SECOND, seconds, request }, sample);
  };
  const [ofDirect, ofBare, ofTroupe, ofPortkey] = [new Sample(), new Sample(), new Sample(), new Sample()];
  const samples = [
    [targets.direct, ofDirect],
    [targets.bare, ofBare],
    [targets.troupe, ofTroupe],
  ] as const;
  let portkey: OfPeer<void> = peer.outcome === 'Missing' ? { reason: peer.reason } : { measured: undefined };
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const [target, sample] of samples) {
      if (turn === 0) await offered(target, context.warmUpSeconds, new Sample());
      await offered(target, TURN_SECONDS, sample);
    }
    if ('measured' in portkey)
      portkey = await ofPeer(context, peer, (target) => offered(target, TURN_SECONDS, ofPortkey));
  }
  const [direct, bare, troupe] = [latencyOf(ofDirect), latencyOf(ofBare), latencyOf(ofTroupe)];
  const name = (of: string): string => `at ${OFFERED_PER_SECOND} requests/s, ${of}`;
  const pair = (of: string, { p50, p99 }: Latency): readonly Figure[] => [
    { name: `${name(of)}, p50`, value: round(p50, 2), unit: 'ms' },
    { name: `${name(of)}, p99`, value: round(p99, 2), unit: 'ms' },
  ];
  return [
    ...pair('direct', direct),
    ...pair('bare proxy', bare),
    ...('measured' in portkey ? pair(PORTKEY, latencyOf(ofPortkey)) : [missing(name(PORTKEY), portkey.reason)]),
    ...pair('Troupe', troupe),
    {
      name: 'Troupe over direct, p50',
      value: round(troupe.p50 - direct.p50, 2),
      unit: 'ms',
      atMost: MOST_ADDED_P50_MS,
    },
    {
      name: 'Troupe over the bare proxy, p99',
      value: round(troupe.p99 - bare.p99, 2),
      unit: 'ms',
      atMost: MOST_P99_OVER_BARE_MS,
    },
  ];
}

function latencyOf(sample: Sample): Latency {
  const [p50 = Number.NaN, p99 = Number.NaN] = sample.quantiles(0.5, 0.99);
  return { p50, p99 };
}

// ── streams ──

/** Each number of streams on processes that have done nothing else: memory that was had before does not grow again. */
async function streams(context: PartContext, upstream: Program): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const options of STREAMS) {
    const bare = await bareStreams(upstream, options);
    const own = await troupeStreams(context, upstream, options);
    const what = `${options.streams.toLocaleString('en')} streams of ${options.perSecond} tokens/s`;
    context.log(`${what}: Troupe grows from ${round(own.idleMiB)} MiB, the bare proxy from ${round(bare.idleMiB)} MiB`);
    figures.push(
      { name: `${what}, delivered by the bare proxy`, value: round(bare.deliveredPercent), unit: '%' },
      { name: `${what}, delivered`, value: round(own.deliveredPercent), unit: '%', atLeast: LEAST_DELIVERED_PERCENT },
      { name: `${what}, memory of the bare proxy over idle`, value: round(bare.growthMiB), unit: 'MiB' },
      { name: `${what}, memory over idle`, value: round(own.growthMiB), unit: 'MiB' },
      {
        name: `${what}, memory over that of the bare proxy`,
        value: round(own.growthMiB / bare.growthMiB, 2),
        unit: 'ratio',
        atMost: MOST_GROWTH_OVER_BARE,
      },
    );
  }
  return figures;
}

async function bareStreams(upstream: Program, options: StreamsOptions): Promise<StreamsResult> {
  const proxy = await startProgram('bare-proxy', upstream.port);
  try {
    return await measureStreams(plainTarget('bare proxy', proxy), options);
  } finally {
    await proxy.stop();
  }
}

async function troupeStreams(context: PartContext, upstream: Program, options: StreamsOptions): Promise<StreamsResult> {
  const troupe = await startTroupe(context, upstream.port, [`slow-${options.perSecond}`]);
  try {
    return await measureStreams(troupe.target, options);
  } finally {
    await troupe.close();
    await troupe.service.stop();
  }
}
