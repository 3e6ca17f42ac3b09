/**
 * The narrow interface to what runs work. Each engine implements it (`embedded`, `docker`); all of them pass the same contract test (`test/engines/compute-contract`).
 *
 * Rules that every engine keeps:
 * - `start` is idempotent by `id`: a second call for work that exists changes nothing and answers the same.
 * - `id` names one epoch of one Attempt; nothing of one id is visible to another (files, processes, environment, secrets).
 * - Every report is repeated by `list` after a restart of the service: running and finished work is adopted (never lost).
 * - Secrets stay out of journals, logs, reports and errors (I11).
 * - Orders carry the service's lease epoch; an engine that can fence (`epochSeen`) obeys only the highest that it has seen.
 */

import type { Duplex } from 'node:stream';
import type { Images } from '../../../kinds/work.js';
import type { CommandSignal } from '../shared/signals.js';

export type { CommandSignal };

/** Work to start. Paths are on the machine that runs the engine. */
export interface WorkSpec {
  /** `<attempt uid>.<epoch>`: the key of the work. */
  readonly id: string;
  readonly image: string;
  /** The image must be this one, as `resolveImage` has named it: whatever the name stands for by now, or else `ImageNotFound`. */
  readonly imageDigest?: string | undefined;
  /** Who may pull it, where the engine does. Never journaled (I11). */
  readonly registryLogins: readonly RegistryLogin[];
  /**
   * The work ends with it. Absent: nothing runs but what enters (`exec`), and the work is Running until it is stopped, which ends
   * it at once, with exit code 0.
   */
  readonly main?: OrderedProcess | undefined;
  readonly init?: OrderedProcess | undefined;
  /** Started before the main program, stopped after it. */
  readonly sidecars: readonly OrderedProcess[];
  readonly workingDir: string;
  /** Where its home directory lies, a place of its own that is there and empty; the engine's choice when absent. */
  readonly home?: string | undefined;
  /** File name under /run/secrets/ → bytes (0400, owned by the user inside). Never journaled. */
  readonly secretFiles: ReadonlyMap<string, Uint8Array>;
  /**
   * Mounted read-only at `path`; `source` is a file or directory (or an archive to unpack when `unpack`).
   * `writable`: an archive that is unpacked into what the work finds at `path`, to change as it likes.
   * `saved`: it is what such work has saved, and what of it cannot be restored keeps nothing from starting (`unrestored`).
   */
  readonly inputs: readonly {
    readonly path: string;
    readonly source: string;
    readonly unpack: Unpack;
    readonly writable?: boolean | undefined;
    readonly saved?: boolean | undefined;
  }[];
  /** Collected after the main program ended: a file as it is, a directory as tar.zst. Missing ones are reported, not fatal. */
  readonly outputs: readonly {
    readonly name: string;
    readonly path: string;
    /**
     * Its loss is the loss of what was worked on: when it cannot be collected, the work has not ended. Its files stay, and the engine
     * tries again and again (`saving`) until it can, or until `remove`. They are collected from Lost work as well, where its machine still
     * has them.
     */
    readonly vital?: boolean | undefined;
  }[];
  readonly limits: WorkLimits;
  /** How long the work may go on, as `fund` sets it later; absent: without end. */
  readonly fundedSeconds?: number | undefined;
  /** Labels for logs and metrics of the engine; no secrets. */
  readonly labels: Readonly<Record<string, string>>;
  /** Commands may be run in it (`exec`), which costs its start some milliseconds. Work without a main program always may be entered. */
  readonly enterable?: boolean | undefined;
  /** What may be reached from inside, enforced outside. Absent: nothing. */
  readonly network?: WorkNetwork | undefined;
  /**
   * A directory of the service's that holds the socket of the attempt API (`api.sock`), shown read-only as `/run/svc`. The directory and
   * not the socket: a service that comes back makes a new one in it. Absent: there is none inside.
   */
  readonly apiDirectory?: string | undefined;
}

/** Shown to a registry. */
export interface RegistryLogin {
  /** `host` or `host:port`, as its owner wrote it. Absent: that of the image. */
  readonly registry?: string | undefined;
  readonly username: string;
  readonly password: string;
}

/** Names are checked at a proxy outside the box, which is its only way out; special addresses are refused under every policy. */
export type WorkNetwork =
  | { readonly egress: 'Deny' }
  /** Lower-case names and `*.suffix`. */
  | { readonly egress: 'AllowList'; readonly hosts: readonly string[] }
  | { readonly egress: 'Open' };

export type Unpack = 'no' | 'tar' | 'tar.gz' | 'tar.zst';

export interface OrderedProcess {
  readonly name: string;
  readonly command: readonly string[];
  /** Complete environment, to which the engine adds at most PWD and what it lacks of the image's. May hold secrets: never journaled. */
  readonly env: Readonly<Record<string, string>>;
  /** Kill it after this long; absent: no limit. */
  readonly timeoutSeconds?: number | undefined;
}

export interface WorkLimits {
  readonly milliCpu: number;
  /** Bytes. */
  readonly memory: number;
  /** Bytes that the machine's capacity is lessened by; absent: `memory`. Less where the client stated none. */
  readonly countedMemory?: number | undefined;
  /** Bytes, for the writable layer and the workspace. */
  readonly disk: number;
  /** Processes and threads at the most; the engine gives a box less where its memory is a small part of the machine's. */
  readonly pids: number;
  /** Bytes kept of each process's log; older parts are rotated away and a line says so. */
  readonly logBytes: number;
}

/** How long work has to end when its time is over. */
export const FUNDING_GRACE_SECONDS = 30;
/** The message of its end then (`WorkState.message`). */
export const FUNDING_UNKNOWN_MESSAGE = 'the service did not say in time that the work is paid any longer';

/** How long work may go on. */
export interface FundedTime {
  /** Id of the work. */
  readonly work: string;
  /** From now on; undefined: without end. */
  readonly seconds: number | undefined;
}

export type WorkPhase = 'Preparing' | 'Running' | 'Exited' | 'StartFailed' | 'Lost';

/** A collected output: a file of the engine's, to be taken into a blob and then released by `remove`. */
export interface OutputFile {
  readonly name: string;
  readonly file: string;
  readonly size: number;
  readonly directory: boolean;
  readonly error?: string | undefined;
  /** Of a directory, if it is vital at least: bytes of its files as their readers see them, each file once. */
  readonly logical?: number | undefined;
  /** The error is the machine's and may pass, as a full disk does; of the others, trying again changes nothing. */
  readonly passing?: boolean | undefined;
  /** As it was ordered. */
  readonly vital?: boolean | undefined;
}

/** All that is known of one piece of work. Also the form of every report: a report is the whole state, not a delta. */
export interface WorkState {
  readonly id: string;
  readonly phase: WorkPhase;
  /** Increases with every change of this work's state. */
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly preparedAt?: number | undefined;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** 128 + n when signal n ended the program. */
  readonly exitCode?: number | undefined;
  /** n, by that convention. */
  readonly signal?: number | undefined;
  readonly outOfMemory?: boolean | undefined;
  /**
   * StartFailed: `ImageNotFound`, `CommandNotFound`, `CommandNotExecutable`, `WorkingDirNotFound`, `InputFailed`, `InitFailed` (with
   * init's exit code), `DiskFull`, `Stopped` (before main ran), `SandboxFailed`, `Unavailable`. Lost: `RunnerLost`.
   * Exited: only when the engine itself ended it: `TimedOut`, `DiskFull` (with exit code 137), `FundingUnknown` (see `fund`).
   */
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly outputs?: readonly OutputFile[] | undefined;
  /** What of the saved files could not be restored, and why, in a few lines. */
  readonly unrestored?: string | undefined;
  /**
   * Running, and nothing runs any more: a vital output is being collected, which takes long, or did not work (`error`) and is tried
   * again.
   */
  readonly saving?: { readonly error?: string | undefined } | undefined;
  /** Detached processes that run now (`startProcess`). */
  readonly processes?: number | undefined;
}

export interface LogQuery {
  /** Process within the work; `main` by default. `process-<id>`: a detached one. `network`: its connections. */
  readonly container: string;
  readonly follow: boolean;
  /** Last so many lines. */
  readonly tail?: number | undefined;
  /** Only lines at or after this time, in ms. */
  readonly since?: number | undefined;
}

/** By what the lines of a log are held back: its reader has one chunk of it in memory, and none without leave. */
export interface LogPace {
  /** Resolves when a chunk may be read, or the next one where a reader looks for its first line. */
  begin(): Promise<void>;
  /** Every line of the chunk was handed on. Resolves when they are taken, so that nothing of it is in memory any more. */
  end(): Promise<void>;
}

export interface LogLine {
  readonly stream: 'stdout' | 'stderr' | 'system';
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Bytes of the line, with its newline when it had one. */
  readonly data: Uint8Array;
}

/** What this engine has and what it can enforce; shown in /readyz and in Offering status. */
export interface EngineFacts {
  readonly name: string;
  /** `bubblewrap`, `unshare`, …: how isolation is made. */
  readonly isolation: string;
  readonly milliCpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly enforced: Readonly<Record<'cpu' | 'memory' | 'pids' | 'disk', boolean>>;
  /** Why work cannot run at all; absent when it can. */
  readonly refusal?: string | undefined;
}

/** A command to run beside what runs already in a piece of work, in the same box, with nobody's secrets but its own env. */
export interface ExecOrder {
  /** Id of the work, which names its epoch: a command never reaches a successor (I8). */
  readonly work: string;
  readonly command: readonly string[];
  /** Complete environment, to which the engine adds at most PWD and, where it has none, PATH. May hold secrets: never journaled. */
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  /** Kill everything that it started after this long; absent: no limit. */
  readonly timeoutSeconds?: number | undefined;
  /** On a terminal of its own: its output is all `stdout`, and the end of the input is the terminal's hang-up. */
  readonly terminal?: TerminalSize | undefined;
  /**
   * Its input or standard output may be long: an engine that has a quicker way for such takes it, on which the two outputs keep no order
   * between each other. Never together with a terminal.
   */
  readonly bulk?: boolean | undefined;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export type ExecStart =
  | { readonly outcome: 'Started'; readonly execution: Execution }
  /** There is no such work, or its main program does not run (yet, or any more). */
  | { readonly outcome: 'NotRunning' };

/** A command under way. It ends with the caller: when the signal aborts or the connection breaks, it is killed. */
export interface Execution {
  /** Output as it comes; one who stops reading pauses the program, not the service. `ended` waits until the last of it is taken. */
  readonly output: AsyncIterable<{ readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array }>;
  /** Never rejects; `WorkGone` also when the caller's own signal ended it. */
  readonly ended: Promise<ExecEnd>;
  /** Resolves when there is room for more. Input for a program that has ended is dropped. */
  write(data: Uint8Array): Promise<void>;
  endInput(): void;
  /** To every process that the command started. */
  signal(signal: CommandSignal): void;
  /** Of one on a terminal; nothing otherwise. */
  resize(size: TerminalSize): void;
}

export type ExecEnd =
  /** 128 + n when signal n ended it. */
  | { readonly end: 'Exited'; readonly exitCode: number; readonly timedOut: boolean }
  /** It was never executed: `CommandNotFound`, `CommandNotExecutable`, `WorkingDirNotFound`, `SandboxFailed`. */
  | { readonly end: 'NotExecuted'; readonly reason: string; readonly message: string }
  /** The work ended, or its engine was lost, before the command did. */
  | { readonly end: 'WorkGone' };

/** A process that goes on by itself until it or the work ends. Its output is the log of container `process-<id>`. */
export interface ProcessOrder extends ExecOrder {
  /** Unique within the work: a second start under it changes nothing. `[a-z0-9]{1,32}`. */
  readonly id: string;
}

export interface ProcessState {
  readonly id: string;
  readonly command: readonly string[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly ended?: { readonly at: number; readonly exitCode: number; readonly timedOut: boolean } | undefined;
}

export type ProcessStart =
  | { readonly outcome: 'Started'; readonly process: ProcessState }
  | { readonly outcome: 'NotRunning' }
  | { readonly outcome: 'NotExecuted'; readonly reason: string; readonly message: string };

export type PortStart =
  /** Half-open ends are kept: what one side has ended the other may still answer. Destroyed with the work and the signal. */
  | { readonly outcome: 'Connected'; readonly stream: Duplex }
  | { readonly outcome: 'NotRunning' }
  /** Nobody listens on the port inside. */
  | { readonly outcome: 'Refused'; readonly message: string };

/** `digest`: `sha256:<64 hexadecimal digits>` of the image as its registry names it, or of itself where it was never in one. */
export type FoundImage =
  | { readonly outcome: 'Found'; readonly digest: string }
  /** `ImageNotFound`, `ImagePullFailed`. */
  | { readonly outcome: 'Missing'; readonly reason: string; readonly message: string };

export interface ComputeEngine {
  readonly name: string;
  /** Which images its work may name: those of the catalog, or any reference. */
  readonly images: Images;
  /** A directory of the engine's making that it can show to work (`WorkSpec.apiDirectory`); undefined: it has none. */
  readonly apiDirectory?: string | undefined;
  facts(signal: AbortSignal): Promise<EngineFacts>;
  /**
   * Highest lease epoch whose orders were obeyed. Above the epoch that the engine was opened with, none of its orders will be:
   * another process is the active one, or the database is older than what runs here. Absent: the engine does not fence.
   */
  epochSeen?(signal: AbortSignal): Promise<number>;
  /** What the name of an image stands for; it is pulled if need be. Absent: the engine's images are not told apart by digests. */
  resolveImage?(name: string, logins: readonly RegistryLogin[], signal: AbortSignal): Promise<FoundImage>;
  /** Resolves once the engine has taken the order durably; the rest comes as reports. */
  start(spec: WorkSpec, signal: AbortSignal): Promise<void>;
  /** SIGTERM to all of main's processes now, SIGKILL after the grace; may be repeated. Unknown ids are a success. */
  stop(id: string, graceSeconds: number, signal: AbortSignal): Promise<void>;
  /**
   * Sets how long work may go on. When that time is over and no later call has changed it, the engine stops the work as by `stop` with
   * FUNDING_GRACE_SECONDS, by its own clock, whether or not a service is there; the reason of its end is `FundingUnknown`. The order sets the
   * first time (`WorkSpec.fundedSeconds`). Unknown ids are a success.
   */
  fund(times: readonly FundedTime[], signal: AbortSignal): Promise<void>;
  /** Ends what is left, frees the scratch (and the logs when asked); resolves when nothing of the work runs any more. */
  remove(id: string, logs: boolean, signal: AbortSignal): Promise<void>;
  /** Everything the engine has, also finished work that was not removed. */
  list(signal: AbortSignal): Promise<readonly WorkState[]>;
  /**
   * Calls `onState` for every change from now on, in order per id, until the signal ends it. Resolves when subscribed.
   * A broken connection is healed inside; after it `onState` is called again for everything that is there.
   * `onLost` is called once when the engine is known to have lost all work (the runner died).
   */
  watch(onState: (state: WorkState) => void, onLost: (reason: string) => void, signal: AbortSignal): Promise<void>;
  /**
   * Runs a command in work that runs, under the limits of the work. It ends with its first process; what that left in the background
   * goes on, unheard, until the work ends. When the signal aborts or its time is over, the command is killed with all its
   * descendants that can be told. Work that was not ordered as `enterable` refuses. Never asked again by itself: a command that may have
   * begun is not repeated.
   */
  exec(order: ExecOrder, signal: AbortSignal): Promise<ExecStart>;
  /** As `exec`, without a caller: it goes on when the service ends and is there for the next one. */
  startProcess(order: ProcessOrder, signal: AbortSignal): Promise<ProcessStart>;
  /** Also ended ones, the newest 100 of them. Undefined: there is no such work, or it does not run. */
  processes(work: string, signal: AbortSignal): Promise<readonly ProcessState[] | undefined>;
  /** Full: nothing was taken, since the process does not read; ask again later. `end` closes the input after the data. */
  writeProcess(
    work: string,
    id: string,
    input: { readonly data: Uint8Array; readonly end: boolean },
    signal: AbortSignal,
  ): Promise<'Taken' | 'Full' | 'Gone'>;
  /** To all that the process has started and can be told. Gone: there is none, or it has ended. */
  signalProcess(work: string, id: string, name: CommandSignal, signal: AbortSignal): Promise<'Sent' | 'Gone'>;
  /** To a port that a program inside listens on, on loopback (IPv4). */
  connect(work: string, port: number, signal: AbortSignal): Promise<PortStart>;
  /** Lines until the end (or for ever while following and running), as fast as `pace` lets them come. Unknown id: an empty stream. */
  logs(id: string, query: LogQuery, signal: AbortSignal, pace?: LogPace): AsyncIterable<LogLine>;
  /** Leaves running work alone; frees connections. */
  close(): Promise<void>;
}
