/**
 * What one kind declares about itself. All generic machinery (CRUD, list, watch, OpenAPI, discovery, kubectl's
 * columns, authorisation, supervision, persistence) is driven by this and by nothing else.
 * A kind is a folder with a schema, a machine and an index that exports one of these, and an entry in each of a few lists (CONTRIBUTING.md,
 * "Adding things").
 */
import type { z } from 'zod';
import type { ApiObject } from '../api/object.js';
import type { ErrorCode } from '../api/errors/codes.js';
import type { Cause } from '../api/refusal.js';
import type { ResourceAmounts } from './amounts.js';
import type { CommitEffect } from './effect.js';
import type { Machine, SlotRow } from './machine.js';
import type { PricedWork } from './priced-work.js';
import type { ChildFacts } from './object-message.js';
import type { OrgRule } from './rule.js';
import type { Images, WorkPlan } from './work.js';

export type Operation = 'list' | 'create' | 'read' | 'replace' | 'patch' | 'delete' | 'readStatus';

/** A column of `kubectl get` and of the `Table` form. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string | undefined;
  readonly description: string;
  /** 0: always shown; 1 and up: with `-o wide`. */
  readonly priority?: number | undefined;
  /** The cell, from the object as it is served. */
  cell(object: ApiObject): string | number | boolean | null;
}

/** Reads a field for a selector. A method's type, so that a kind may read its own spec and status typed. */
export type FieldReader = { read(object: ApiObject): string | undefined }['read'];

/** Something that a body names and that must exist. `field` is the path for the cause. */
export interface Reference {
  readonly field: string;
  readonly kind: string;
  /** Project it is looked for in; absent: the object's own. */
  readonly project?: string | undefined;
  readonly name: string;
  /** Reason of the cause when it is missing; `NotFound` when absent. */
  readonly reason?: string | undefined;
  /** The name may also be one that an object goes by in its spec (an alias of a Model): true for the object that is meant. */
  meant?(found: ApiObject): boolean;
  /** What is wrong with the object that was found (another version, say); undefined: nothing. */
  objection?(found: ApiObject): string | undefined;
  /** What a client should know of the object that was found, though nothing is wrong with naming it; `now` in ms. Needs `warnsOfReferences`. */
  warning?(found: ApiObject, now: number): string | undefined;
}

/** What stands in plain text in an object, and the Secrets that its work gets. */
export interface PlaintextSecretCheck {
  readonly texts: readonly { readonly field: string; readonly text: string }[];
  /** Without a version: the newest. */
  readonly secrets: readonly { readonly name: string; readonly version?: number | undefined }[];
}

/** Several objects made by one create: a body of kind `<Kind>List`. */
export interface Batch {
  /** Most objects of one body. */
  readonly most: number;
  /** Largest body in bytes. */
  readonly bytes: number;
  /** What is wrong between the objects of one list (each is checked by itself as well); paths begin with `items[i].`. */
  check(objects: readonly unknown[]): readonly Cause[];
}

/** A call below an object, `POST …/{name}/{path}`, which its machine decides as `Action`. */
export interface KindAction {
  /** Last segment of the route: `tokens`. */
  readonly path: string;
  /** `Message.action`. */
  readonly action: string;
  readonly description: string;
  /** Scope that the caller needs in the object's project: `serviceaccounts:write`. */
  readonly scope: string;
  readonly input: z.ZodType;
  /** HTTP status of success: 201 when it makes something, else 200. The answer is the object with what is revealed once. */
  readonly status: number;
  /** What a caller should know of what it ends, one line each; `before`: the object that it is called on. Pure. */
  warnings?(before: ApiObject, now: number): readonly string[];
}

/** What an object may have below it beside `status` and actions: `…/{name}/{subresource}`. `http/subresources.ts` serves each. */
export type Subresource =
  | 'cells'
  | 'deliveries'
  | 'exec'
  | 'files'
  | 'logs'
  | 'outputs'
  | 'ports'
  | 'processes'
  | 'stages'
  | 'terminal'
  | 'tools';

/** What is described and answered with 501 so far, in the form that its kind will serve. `http/routes/declared` has the routes. */
export type UnservedSubresource =
  | 'answer'
  | 'archive'
  | 'calls'
  | 'checkpoints'
  | 'files'
  | 'journal'
  | 'logs'
  | 'messages'
  | 'resolutions'
  | 'revisions';

/** The children of an object as the rows of `…/cells`, by index. Pure. */
export interface CellRows {
  count(object: ApiObject): number;
  /** Values of the parameter `phase`. */
  readonly phases: readonly string[];
  /** `slot`: its stored row; absent while the child was never begun. */
  phase(object: ApiObject, slot: SlotRow | undefined): string;
  cell(object: ApiObject, index: number, slot: SlotRow | undefined): unknown;
}

/** What the lifecycle tells the owner of an object: `ChildChanged`. */
export interface AsChild {
  /** Kinds of owners that wait for it. */
  readonly parents: readonly string[];
  /** `kept`: what the machine keeps beside the object. Pure. */
  facts(object: ApiObject, kept: unknown): ChildFacts;
  /** uids of the objects for which the service made it, the nearest first; none: a client did. Undefined: it was not noted, long ago. Pure. */
  madeFor(kept: unknown): readonly string[] | undefined;
}

/** The codes with which a kind refuses what needs its running work, by the state in which its object is. */
export interface WorkRefusals {
  readonly starting: ErrorCode;
  readonly notRunning: ErrorCode;
  readonly failed: ErrorCode;
}

/** The object that runs a stage. */
export interface StageObject {
  readonly kind: string;
  readonly name: string;
  /** Of the stage. */
  readonly phase: string;
  /** False: there is no such object, or not yet. */
  readonly begun: boolean;
}

export interface KindDefinition {
  readonly kind: string;
  readonly listKind?: string | undefined;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: 'project' | 'org';
  /** `core` is Kubernetes' own group "" under /api/v1 (namespaces). */
  readonly group: 'api' | 'core';
  readonly version: 'v1' | 'v1beta1';
  readonly operations: ReadonlySet<Operation>;
  /**
   * DELETE of a collection, for kinds of which some object may refuse to go. `OneByOne`: there is none (405), as Kubernetes has none
   * for namespaces. `AllOrNone`: nothing goes unless all may. Absent: no object refuses.
   */
  readonly collectionDelete?: 'OneByOne' | 'AllOrNone' | undefined;
  /** Plain sentence for OpenAPI and `kubectl explain`. */
  readonly description: string;
  readonly schema: {
    /** Zod object; defaults are in it. Unknown fields are found by `src/api/strict.ts`. */
    readonly spec: z.ZodType;
    readonly status: z.ZodType;
    /** Paths below `spec` that never change after create (`spec.command`). */
    readonly immutable: readonly string[];
    /** Paths below `spec` that may only rise (`spec.maxCostUSD`). */
    readonly raiseOnly: readonly string[];
  };
  /** Schemas that the OpenAPI documents show under names of their own, beside the kind's: shared shapes that the specification names. */
  readonly components?: Readonly<Record<string, z.ZodType>> | undefined;
  /** A create may carry a list of objects; absent: it may not. */
  readonly batch?: Batch | undefined;
  readonly columns: readonly Column[];
  /** Field selectors beyond metadata.name, metadata.namespace, status.phase and spec.state: path → value. */
  readonly selectableFields: Readonly<Record<string, FieldReader>>;
  /** Status at birth, before the machine sees `Created`. */
  initialStatus(object: ApiObject): unknown;
  /** Objects of this kind are one catalog for all orgs: they live under `CATALOG_ORG` and only the service writes them. */
  readonly catalog?: boolean | undefined;
  /** The object as a patch sees it, where that is not the stored one: a Secret's kept keys. Also what "no change" is measured by. */
  patchBase?(object: ApiObject): ApiObject;
  readonly actions?: readonly KindAction[] | undefined;
  /** Routes, OpenAPI and upgrades of connections come from these names. */
  readonly subresources?: readonly Subresource[] | undefined;
  readonly unservedSubresources?: readonly UnservedSubresource[] | undefined;
  /** For kinds whose running work is reached from outside (`exec`, `files`, `ports`, …). */
  readonly workRefusals?: WorkRefusals | undefined;
  /** For kinds that run their work once per index: how many indexes the object has. Absent: one, which has no number. */
  indexes?(object: ApiObject): number;
  /**
   * Digests (`sha256:…`) of the blobs that the object needs as it stands now, until a later state names others or its end.
   * They are kept alive so long, however long nothing reads them; one that nobody has stored is kept by nothing, and the
   * work that wants it says so. `kept`: what the machine keeps beside the object (`Current.private`).
   */
  blobs?(object: ApiObject, kept?: unknown): readonly string[];
  /** What a client's write of this kind must keep to among the objects of its org. */
  readonly rule?: OrgRule | undefined;
  /** What the service itself makes is held to the rule as well. */
  readonly rulesService?: true | undefined;
  /** References of this spec that admission checks in the same project. */
  references?(object: ApiObject): readonly Reference[];
  /** URLs of the spec that the service itself connects to. One that can never be reached is refused when it is written. */
  dials?(object: ApiObject): readonly { readonly field: string; readonly url: string }[];
  /** For kinds whose work gets Secrets: no value of them may stand in its plain text (SecretValueInEnv). */
  plaintextSecretCheck?(object: ApiObject): PlaintextSecretCheck;
  /** It runs Attempts (or will): its name becomes a label value of theirs, so it has at most 63 characters. */
  readonly runsWork?: boolean | undefined;
  /**
   * Its machinery is not built yet: objects validate whole and can be rehearsed (dry run), a real create answers 501
   * Unsupported (except in the catalog's project, where only the service writes). Whoever builds the machinery removes the mark and names in `unsupported` what is still left.
   */
  readonly unbuilt?: boolean | undefined;
  /** Of what is paid for at a payment processor: a create is refused when there is none, or it does not answer. */
  readonly needsPayments?: true | undefined;
  /** Fields that are valid but not built yet: their paths; a real create or change answers 501 Unsupported. */
  unsupported?(spec: unknown, images: Images): readonly string[];
  readonly machine: Machine;
  /** What the commit that removes the object does beside it, however it came to that (its machine, a finalizer, garbage collection). Pure. */
  atRemoval?(object: ApiObject): readonly CommitEffect[];
  /** For kinds whose objects other objects make as their children and wait for. */
  readonly asChild?: AsChild | undefined;
  /**
   * For kinds that make other objects: whether the owner still waits for the child of this slot to be made. Asked before a child is made for
   * which it may have asked long ago. Pure.
   */
  awaitsChild?(slot: SlotRow | undefined): boolean;
  /** The same for a change of the child's spec: whether the owner still asks for it, and has asked for nothing else since. Pure. */
  asksOfChild?(slot: SlotRow | undefined, spec: Readonly<Record<string, unknown>>): boolean;
  /** For kinds with the subresource `cells`. */
  readonly cells?: CellRows | undefined;
  /** For kinds with the subresource `stages`: the object that runs this stage; undefined: the object has none of this name. Pure. */
  stage?(object: ApiObject, name: string): StageObject | undefined;
  /**
   * For kinds that run work: whether the owner still waits for the Attempt of this epoch. Asked before an Attempt is made for
   * which it may have asked long ago. `slot`: the stored row of its index, where the kind stores slots. Pure.
   */
  awaitsAttempt?(owner: { readonly kept: unknown; readonly slot: SlotRow | undefined }, epoch: number): boolean;
  /** For kinds that run work: what a Node must have for each piece of it. Pure. */
  asks?(object: ApiObject): ResourceAmounts;
  /** What a client should know of an object that it makes, though nothing is wrong with it; one line each. Pure. */
  warnings?(object: ApiObject): readonly string[];
  /** Some of its references have a `warning`: they are looked at once more at a create. */
  readonly warnsOfReferences?: boolean | undefined;
  /** For kinds whose work saves files into a Volume: the name of the one that takes this output. Pure. */
  savesInto?(owner: ApiObject, output: string): string | undefined;
  /** For kinds that run work or have it run: what of it has a price. A new object then has `status.estimate`. Pure. */
  pricedWork?(object: ApiObject): PricedWork;
  /** For kinds that run work: what an Attempt of this owner runs. Pure. */
  workPlan?(owner: ApiObject, slot: number, epoch: number): WorkPlan;
}
