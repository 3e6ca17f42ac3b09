/**
 * The messages between a service and a runner: one JSON object per line, both ways, over a unix socket.
 *
 * A connection begins with `hello` (versions that the client speaks, its lease epoch); the runner answers with the version
 * that both will use and who it is. Then the client sends requests, each answered once by its id, in any order; and the
 * runner sends events to clients that asked for them.
 *
 * `exec` and `connect` are the last request of a connection: once it is answered as Started or Connected, the connection is that
 * command's or port's alone, carries frames (`frames.ts`) both ways, and ends with it.
 *
 * Versions. 4: terminals, detached processes, ports, a wider window of input, work with a network. 3: `exec`. A program speaks its own
 * version and the one before, so either side may be upgraded first.
 */
import type {
  CommandSignal,
  ExecOrder,
  ProcessOrder,
  WorkSpec,
  WorkState,
} from '../../engines/compute/contract/engine.js';
import type { RefusalCode } from '../../engines/compute/shared/refusal.js';

export const PROTOCOL_VERSIONS: readonly number[] = [4, 3];

/** The first version whose runner gives work a network. One before runs it without, whatever its order says. */
export const NETWORK_VERSION = 4;

/** The first version whose runner holds boxes by an agent, and so has more than plain commands. */
export const AGENT_VERSION = 4;

/** Bytes of one line; larger ones end the connection. Secret files of one order must fit into it. */
export const MAX_LINE = 32 * 1024 * 1024;

/** Paths inside work; chosen by the service so that the runner need not know its words. */
export interface InsidePaths {
  readonly workspace: string;
  readonly home: string;
  readonly secrets: string;
  /** Parent of inputs, outputs and state. */
  readonly root: string;
  /** Where the directory of the attempt API is shown. */
  readonly api?: string | undefined;
}

/** A WorkOrder as it travels: maps become objects, bytes base64, and the image is resolved to where its files are. */
export type WireOrder = Omit<WorkSpec, 'secretFiles' | 'registryLogins'> & {
  readonly secretFiles: Readonly<Record<string, string>>;
  /** `system`: this machine's own system. `missing`: the engine knows no such image. */
  readonly rootfs: 'system' | 'missing';
  readonly inside: InsidePaths;
  /** Special addresses and ranges that the operator lets this work reach, where its network policy does. */
  readonly egressAllow?: readonly string[] | undefined;
};

export interface Hello {
  readonly hello: { readonly versions: readonly number[]; readonly epoch: number };
}

export interface Welcome {
  readonly welcome: {
    readonly version: number;
    /** Differs with every start of a runner: by it a client sees that the one it knew has died. */
    readonly runner: string;
    readonly pid: number;
    /** Highest lease epoch seen so far. */
    readonly epoch: number;
  };
}

export type Request =
  | { readonly id: number; readonly op: 'facts' }
  | { readonly id: number; readonly op: 'start'; readonly order: WireOrder }
  | { readonly id: number; readonly op: 'stop'; readonly work: string; readonly graceSeconds: number }
  /** A runner of an earlier program refuses it, and lets work go on. */
  | {
      readonly id: number;
      readonly op: 'fund';
      readonly times: readonly { readonly work: string; readonly seconds: number | null }[];
    }
  | { readonly id: number; readonly op: 'remove'; readonly work: string; readonly logs: boolean }
  | { readonly id: number; readonly op: 'list' }
  /** Sends state events from now on; the answer carries everything that is there. */
  | { readonly id: number; readonly op: 'watch' }
  /** Sends `grown` events for one log until it ended or `unfollow`; the answer says whether it may still grow. */
  | { readonly id: number; readonly op: 'follow'; readonly work: string; readonly container: string }
  | { readonly id: number; readonly op: 'unfollow'; readonly work: string; readonly container: string }
  /** Answered with ExecAnswer. */
  | { readonly id: number; readonly op: 'exec'; readonly order: ExecOrder }
  /** Answered with ConnectAnswer. */
  | { readonly id: number; readonly op: 'connect'; readonly work: string; readonly port: number }
  /** Answered with ProcessStart. */
  | { readonly id: number; readonly op: 'startProcess'; readonly order: ProcessOrder }
  /** Answered with ProcessState[] or null. */
  | { readonly id: number; readonly op: 'processes'; readonly work: string }
  /** Answered with Taken, Full or Gone. `data` is base64. */
  | {
      readonly id: number;
      readonly op: 'writeProcess';
      readonly work: string;
      readonly process: string;
      readonly data: string;
      readonly end: boolean;
    }
  /** Answered with Sent or Gone. */
  | {
      readonly id: number;
      readonly op: 'signalProcess';
      readonly work: string;
      readonly process: string;
      readonly signal: CommandSignal;
    };

export type ExecAnswer =
  /** `window`: bytes of input that may be under way in frames. `data`: where input and standard output go instead. */
  | { readonly outcome: 'Started'; readonly window?: number | undefined; readonly data?: DataPlace | undefined }
  | { readonly outcome: 'NotRunning' };

/**
 * The data connection of a command that carries much (`ExecOrder.bulk`): its input and its standard output go to and from the agent of the box
 * itself, past the runner, which would only copy them. It begins with an order (`../agent/order.ts`) that names the command's data; the
 * agent answers with one byte, and from then on both sides send bytes as they are. Both ends are told in frames all the same, that
 * of the output when the last of it was sent: so a connection that breaks is never taken for the end.
 */
export interface DataPlace {
  readonly socket: string;
  readonly name: string;
}

export type ConnectAnswer =
  | { readonly outcome: 'Connected'; readonly window?: number | undefined }
  | { readonly outcome: 'NotRunning' }
  | { readonly outcome: 'Refused'; readonly message: string };

export type Answer =
  | { readonly id: number; readonly ok: unknown }
  | { readonly id: number; readonly refused: { readonly code: RefusalCode; readonly message: string } };

export type Event =
  | { readonly event: 'states'; readonly states: readonly WorkState[] }
  | { readonly event: 'grown'; readonly work: string; readonly container: string; readonly ended: boolean };

/** Thrown where a request is refused; becomes `refused` on the wire and an EngineRefusal on the other side. */
export class Refused extends Error {
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(message);
    this.name = 'Refused';
    this.code = code;
  }
}
