/** What a part of the benchmarks answers: figures with their unit and, where one was set, their target. */
import type { Service, ServiceOptions } from './service.js';

export interface Figure {
  readonly name: string;
  /** NaN: it could not be measured here. */
  readonly value: number;
  readonly unit: 'per second' | 'ms' | 'µs' | 'MiB' | '%' | 'count' | 'ratio' | 'bytes' | 'MB/s' | 'USD';
  /** What it is to be at least or at most. */
  readonly atLeast?: number | undefined;
  readonly atMost?: number | undefined;
  /** What the real kube-apiserver with etcd did on two quiet cores, where that was measured. */
  readonly kubernetes?: number | undefined;
}

export interface PartContext {
  /** A service on an empty data directory; stopped and removed when the part ends. */
  readonly fresh: (options?: Omit<ServiceOptions, 'dir' | 'profileDir'>) => Promise<Service>;
  readonly connections: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly log: (line: string) => void;
}

export interface Part {
  readonly name: string;
  readonly about: string;
  run(context: PartContext): Promise<readonly Figure[]>;
}
