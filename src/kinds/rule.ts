/**
 * Rules of a client's write that look at other objects of its org: who may make a key for whom, and that an org keeps an Owner.
 * Writes of kinds that have such a rule are carried out one at a time for each org, so what a rule has seen still holds when
 * the write is committed. The service's own writes are not asked.
 */
import type { Author } from '../api/access/author.js';
import type { ApiObject } from '../api/object.js';
import type { Refusal } from '../api/refusal.js';

export interface RuledWrite {
  readonly org: string;
  readonly by: Author;
  /** The service makes it, of a kind with `rulesService`. */
  readonly byService?: boolean | undefined;
  /** Undefined for a create. */
  readonly before: ApiObject | undefined;
  /** Undefined for a deletion. */
  readonly after: ApiObject | undefined;
  /** Names of the objects of the same kind that are deleted by the same request. */
  readonly alongside?: ReadonlySet<string> | undefined;
}

/** Objects of the write's own org, as every acknowledged write left them. */
export interface OrgView {
  read(kind: string, name: string): Promise<ApiObject | undefined>;
  list(kind: string): AsyncIterable<ApiObject>;
}

export type OrgRule = (write: RuledWrite, view: OrgView) => Promise<Refusal | undefined>;
