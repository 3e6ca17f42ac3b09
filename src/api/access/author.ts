/**
 * The caller behind a write: the name that is shown, and what the caller may do.
 * Whatever a caller grants to a key, a token or a ServiceAccount is cut to that (spec, "Authentication" 3).
 */

/** What a holder may do: scope patterns, within projects. */
export interface Grant {
  /** Patterns as in `scope.ts`. */
  readonly scopes: readonly string[];
  /** Absent: every project and the org level. Given: only these projects (and reading the catalog). */
  readonly projects?: readonly string[] | undefined;
}

export interface Author extends Grant {
  /** Shown in `createdBy`: member e-mail or `serviceaccount:<project>/<name>`. */
  readonly name: string;
  /** Name of the Member behind a member's key. */
  readonly member?: string | undefined;
  /** Names of further Members to whom a key that this author makes is bound: they lent the key that is being used. */
  readonly boundTo?: readonly string[] | undefined;
  /** When the credential that was used ends, in ms since the epoch: what is made with it ends no later. Absent: it does not end. */
  readonly expires?: number | undefined;
  readonly serviceAccount?: { readonly project: string; readonly name: string } | undefined;
}
