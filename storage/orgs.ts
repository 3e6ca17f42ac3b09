/** Owns the rows of orgs: which tenants this deployment has. Whole store, for operators and the first start. */
import type { Postgres, Statement } from './postgres.js';

export interface OrgRow {
  readonly org: string;
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
}

export interface Orgs {
  list(): Promise<readonly OrgRow[]>;
  /** False when the id or the name is taken. */
  insert(org: string, name: string): Promise<boolean>;
}

export function openOrgs(postgres: Postgres): Orgs {
  return {
    async list() {
      const rows = await postgres.readRows<[string, string, Date]>(LIST);
      return rows.map(([org, name, created]) => ({ org, name, created: created.getTime() }));
    },
    async insert(org, name) {
      return (await postgres.write(INSERT, [org, name])) === 1;
    },
  };
}

/** All orgs, oldest first. */
const LIST: Statement = { name: 'orgs', text: 'SELECT org, name, created FROM orgs ORDER BY created, org' };

/** Precondition: neither id nor name is taken. Result: one row touched, or none when one of them is. */
const INSERT: Statement = {
  name: 'insert org',
  text: 'INSERT INTO orgs (org, name) VALUES ($1, $2) ON CONFLICT DO NOTHING',
};
