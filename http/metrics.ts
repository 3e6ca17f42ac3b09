/**
 * The metrics of the HTTP server. The hot path adds to plain numbers; they become Prometheus series only when
 * `/metrics` is read. Labels: verb, resource (a plural or a fixed route) and status; all three come from the
 * registry and from us, never from a client, so their number is bounded.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Exchange } from './exchange.js';

interface Series {
  readonly verb: string;
  readonly resource: string;
  readonly status: string;
  count: number;
  /** Seconds. */
  sum: number;
  readonly buckets: Float64Array;
}

/** Seconds. From a cached read to the longest request; few, since each is a series for every verb and resource. */
const BOUNDS = [0.001, 0.01, 0.1, 1, 10];

const DURATION = 'troupe_http_request_duration_seconds';
const DURATION_HELP = 'Time from the arrival of a request to its answer, streams left out.';

export interface HttpMetrics {
  /** One answered request. `seconds` undefined: a stream, whose length says nothing. */
  observe(verb: string, resource: string, status: number, seconds: number | undefined): void;
}

export interface HttpGauges {
  inFlight(): number;
  streams(): number;
}

export function openMetrics(registry: Registry, gauges: HttpGauges): HttpMetrics {
  const series = new Map<string, Series>();

  const requests = new Counter({
    name: 'troupe_http_requests_total',
    help: 'Answered requests by verb, resource and HTTP status (499: the client left).',
    labelNames: ['verb', 'resource', 'status'],
    registers: [],
    collect() {
      this.reset();
      for (const { verb, resource, status, count } of series.values()) this.inc({ verb, resource, status }, count);
    },
  });
  const durations = new Histogram({
    name: DURATION,
    help: DURATION_HELP,
    labelNames: ['verb', 'resource'],
    buckets: BOUNDS,
    registers: [],
  });
  // prom-client knows no histogram that is filled when it is read: both of its readers are answered from ours.
  const read = async (): Promise<object> => ({
    name: DURATION,
    help: DURATION_HELP,
    type: 'histogram',
    aggregator: 'sum',
    values: histogramValues(series.values()),
  });
  Object.assign(durations, { get: read, getForPromString: read });
  const inFlight = new Gauge({
    name: 'troupe_http_in_flight_requests',
    help: 'Requests that are being worked on, streams left out.',
    registers: [],
    collect() {
      this.set(gauges.inFlight());
    },
  });
  const streams = new Gauge({
    name: 'troupe_http_streams',
    help: 'Open watches, followed logs and transfers.',
    registers: [],
    collect() {
      this.set(gauges.streams());
    },
  });

  for (const metric of [requests, durations, inFlight, streams]) registry.registerMetric(metric);

  return {
    observe(verb, resource, status, seconds) {
      const key = `${verb}/${resource}/${status}`;
      let entry = series.get(key);
      if (entry === undefined) {
        entry = {
          verb,
          resource,
          status: String(status),
          count: 0,
          sum: 0,
          buckets: new Float64Array(BOUNDS.length + 1),
        };
        series.set(key, entry);
      }
      entry.count += 1;
      if (seconds === undefined) return;
      entry.sum += seconds;
      let at = 0;
      while (at < BOUNDS.length && seconds > (BOUNDS[at] ?? Infinity)) at += 1;
      entry.buckets[at] = (entry.buckets[at] ?? 0) + 1;
    },
  };
}

interface HistogramValue {
  readonly metricName: string;
  readonly exemplar: null;
  readonly labels: Record<string, string | number>;
  readonly value: number;
}

function histogramValues(all: Iterable<Series>): HistogramValue[] {
  const merged = new Map<string, { labels: { verb: string; resource: string }; sum: number; buckets: number[] }>();
  for (const { verb, resource, sum, buckets } of all) {
    const key = `${verb}/${resource}`;
    let entry = merged.get(key);
    if (entry === undefined) {
      entry = { labels: { verb, resource }, sum: 0, buckets: Array.from({ length: BOUNDS.length + 1 }, () => 0) };
      merged.set(key, entry);
    }
    entry.sum += sum;
    for (let i = 0; i < buckets.length; i++) entry.buckets[i] = (entry.buckets[i] ?? 0) + (buckets[i] ?? 0);
  }
  const values: HistogramValue[] = [];
  for (const { labels, sum, buckets } of merged.values()) {
    let count = 0;
    for (const [at, inBucket] of buckets.entries()) {
      count += inBucket;
      values.push({
        metricName: `${DURATION}_bucket`,
        exemplar: null,
        labels: { le: BOUNDS[at] ?? '+Inf', ...labels },
        value: count,
      });
    }
    values.push({ metricName: `${DURATION}_sum`, exemplar: null, labels: { ...labels }, value: sum });
    values.push({ metricName: `${DURATION}_count`, exemplar: null, labels: { ...labels }, value: count });
  }
  return values;
}

const STREAMS = new Set(['watch', 'logs', 'transfer', 'terminal', 'proxy']);

/** What an exchange adds up to, once its answer is given. */
export function observeExchange(metrics: HttpMetrics, x: Exchange, status: number): void {
  const isStream = STREAMS.has(x.verb);
  metrics.observe(x.verb, x.resource, status, isStream ? undefined : (performance.now() - x.startedAt) / 1000);
}
