/**
 * The plan of one Attempt's work: everything the engine must be given, with secrets and inputs still named, not
 * resolved. A kind makes it from its spec (pure); the effect runner resolves secrets and inputs and hands it to the engine.
 */
import type { ResourceAmounts } from './amounts.js';

/** `Any`: whatever the engine has or can pull. */
export type Images = 'Catalog' | 'Any';

export interface SecretRef {
  readonly name: string;
  /** Pinned version; absent: the newest at admission. */
  readonly version?: number | undefined;
}

export interface PlannedEnv {
  readonly name: string;
  readonly value?: string | undefined;
  readonly fromSecret?: { readonly name: string; readonly key: string } | undefined;
}

export type PlannedInput = { readonly name: string } &
  /** `saved`: what such work has saved. What of it cannot be restored keeps nothing from starting. */
  (
    | {
        readonly from: 'blob';
        readonly digest: string;
        readonly workingDir: string;
        readonly saved?: boolean | undefined;
      }
    | { readonly from: 'url'; readonly url: string; readonly sha256?: string | undefined }
    /** `uid`: only of this incarnation of the Job. */
    | {
        readonly from: 'output';
        readonly job: string;
        readonly output: string;
        readonly index: number;
        readonly uid?: string | undefined;
      }
  );

export interface PlannedProcess {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: readonly PlannedEnv[];
  readonly timeoutSeconds?: number | undefined;
}

export interface WorkPlan {
  readonly image: string;
  /** What that name stood for at first, and must be still. Absent: whatever it stands for now. */
  readonly imageDigest?: string | undefined;
  /** The owner notes what the image's name stands for before the work begins, by the message `ImagePinned`. */
  readonly notesImage?: boolean | undefined;
  /** Secrets of type Registry: who may pull it. */
  readonly pullSecrets?: readonly string[] | undefined;
  readonly main: PlannedProcess;
  /** Nothing is started: the box stays open for commands until it is stopped. They get the environment of `main`. */
  readonly idle?: boolean | undefined;
  /** Commands may be run in it beside what it runs. */
  readonly enterable?: boolean | undefined;
  readonly init?: PlannedProcess | undefined;
  readonly sidecars: readonly PlannedProcess[];
  /** Mounted whole: every key as an environment variable and as a 0400 file under /run/secrets/. */
  readonly secrets: readonly SecretRef[];
  /** The owner notes which versions are mounted before the work begins, by the message `SecretsPinned`. */
  readonly notesSecrets?: boolean | undefined;
  readonly workingDir: string;
  /** Home directory inside, of the work's own; the engine's choice when absent. */
  readonly home?: string | undefined;
  readonly inputs: readonly PlannedInput[];
  /** `vital`: the work has not ended before this one is saved. */
  readonly outputs: readonly { readonly name: string; readonly path: string; readonly vital?: boolean | undefined }[];
  readonly amounts: ResourceAmounts;
  /** Bytes that a Node counts for it; absent: those of `amounts`. */
  readonly countedMemory?: number | undefined;
  /** What it may reach. Absent: nothing. */
  readonly network?: PlannedNetwork | undefined;
}

/** Resolved: presets are hosts by now. */
export type PlannedNetwork =
  | { readonly egress: 'Deny' }
  | { readonly egress: 'AllowList'; readonly hosts: readonly string[] }
  | { readonly egress: 'Open' };
