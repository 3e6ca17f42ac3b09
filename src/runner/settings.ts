/**
 * The settings of one runner. The service that starts it gives them as one JSON argument (nothing secret in them), with every
 * number's unit, default and consequence. They are checked by the starter; the runner takes the type only, because the checker
 * would add a quarter to its memory, and so to the cost of every fork. The runner reads no environment variable.
 */
import { z } from 'zod';
import { ORG_LOG_BYTES } from '../engines/compute/shared/log/org-logs.js';
import { PROTOCOL_VERSIONS } from './protocol/messages.js';

export const runnerSettings = z.object({
  /** Directory that the runner owns: journal, logs, scratch, outputs. Absolute. */
  runnerDir: z.string().startsWith('/'),
  /** Names the runtime directory, the cgroups and the marker by which left-over processes are found. */
  runnerId: z.string().regex(/^[0-9a-f]{8}$/),
  /** Directory of the socket and the pipes; short, because a socket's path may have at most 107 bytes. */
  runtimeDir: z.string().startsWith('/'),
  /** How isolation is made; `auto` takes the first that works, and as root a zygote for boxes that are entered. */
  isolation: z.enum(['auto', 'bubblewrap', 'unshare']).default('auto'),
  /** Seconds with neither work nor a connection after which the runner ends itself. */
  idleSeconds: z.number().positive().default(60),
  /** Pieces of work that may live at once; each has a host id and pipes of its own. */
  maxLive: z.int().positive().max(60_000).default(1024),
  /**
   * Most boxes kept ready for work that is only entered; each costs a MB and a half, and all together at most a hundredth of the machine's
   * memory. 0: none.
   */
  spares: z.int().min(0).max(1024).default(128),
  /**
   * Copies of the C library and the few other files that every process maps, some 7 MB of disk each, made when they are first needed. With
   * fewer than there are boxes some share one, and one that forks without end slows its sharers. 0: none.
   */
  copies: z.int().min(0).max(1024).default(32),
  /** Finished pieces of work that are remembered until they are removed; beyond it new orders are refused. */
  maxKept: z.int().positive().default(20_000),
  /**
   * Bytes that the logs of one org may take together, and no more than an eighth of the disk; beyond it its oldest are cut. Those of all orgs
   * take a quarter of the disk at the most.
   */
  orgLogBytes: z.number().positive().default(ORG_LOG_BYTES),
  /** Paths that work must not see even when they lie under a directory that it sees (such as /usr). */
  hidden: z.array(z.string().startsWith('/')).default([]),
  /** Seconds between two measurements of the disk that live work uses; more lets work overshoot its limit for longer. */
  diskSeconds: z.number().positive().default(2),
  /** Protocol versions that this runner speaks, best first; fewer only to try what an older runner would do. */
  protocol: z.array(z.int()).default([...PROTOCOL_VERSIONS]),
});

export type RunnerSettings = z.infer<typeof runnerSettings>;
