/** The rows of orgs: which tenants this deployment has. Whole store, for operators and the first start. */
import type { Postgres, Statement } from './postgres.js';

export interface OrgRow {
  readonly org: string;
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
}

export interface Orgs {
  list(): Promise<readonly OrgRow[]>;
  /** The id of the org of this name; undefined when there is none, or it is not ready yet. */
  find(name: string): Promise<string | undefined>;
  /**
   * The id under which the org of this name is to be made: `org`, or the one that an attempt which was cut off has chosen.
   * Undefined when the name's org is ready.
   */
  claim(org: string, name: string): Promise<string | undefined>;
  /** The org is made: its name is taken from now on. */
  ready(org: string): Promise<void>;
}

export function openOrgs(postgres: Postgres): Orgs {
  return {
    async list() {
      const rows = await postgres.readRows<[string, string, Date]>(LIST);
      return rows.map(([org, name, created]) => ({ org, name, created: created.getTime() }));
    },
    async find(name) {
      const [row] = await postgres.readRows<[string]>(FIND, [name]);
      return row?.[0];
    },
    async claim(org, name) {
      const [row] = await postgres.readRows<[string]>(CLAIM, [org, name]);
      return row?.[0];
    },
    async ready(org) {
      await postgres.write(READY, [org]);
    },
  };
}

/** All orgs, oldest first. */
const LIST: Statement = { name: 'orgs', text: 'SELECT org, name, created FROM orgs ORDER BY created, org' };

/** The ready org of one name. */
const FIND: Statement = { name: 'find org', text: 'SELECT org FROM orgs WHERE name = $1 AND ready' };

/** Precondition: the id is new or the name's own. Result: the name has a row; answers its id while it is not ready. */
const CLAIM: Statement = {
  name: 'claim org',
  text: `
INSERT INTO orgs AS o (org, name) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET name = excluded.name WHERE NOT o.ready
RETURNING org`,
};

/** Precondition: none. Result: the org is ready. */
const READY: Statement = { name: 'org is ready', text: 'UPDATE orgs SET ready = true WHERE org = $1' };
