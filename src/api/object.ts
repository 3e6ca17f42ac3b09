/**
 * The shape that every resource object has. What is inside `spec` and `status` belongs to the kind.
 * Source: spec, "Conventions" 1 to 4.
 */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean | undefined;
  readonly controller?: boolean | undefined;
}

export interface ManagedFieldsEntry {
  readonly apiVersion: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: Record<string, unknown>;
  readonly manager: string;
  readonly operation: 'Update' | 'Apply';
  readonly subresource?: string | undefined;
  /** RFC 3339, seconds. */
  readonly time: string;
}

/** `metadata`. Times are RFC 3339 in whole seconds, as Kubernetes writes them. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly generateName?: string | undefined;
  readonly uid: string;
  /** Absent in stored bytes (there it is a hole that readers stamp); a decimal string in every answer. */
  readonly resourceVersion?: string | undefined;
  /** Increases with each change of `spec` and when deletion is asked for. */
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
  readonly managedFields?: readonly ManagedFieldsEntry[] | undefined;
}

export interface ApiObject<Spec = unknown, Status = unknown> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
  readonly status: Status;
}

/** `status.conditions[]`. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number | undefined;
}
