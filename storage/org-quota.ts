/** Whether an org has room for one more object. The commit decides; this is for dry runs. */
import type { Postgres, Statement } from './postgres.js';

/** Its limit, when the org is full. Rejects with a `RefusalError` Unavailable. */
export type FullOrg = (org: string) => Promise<number | undefined>;

export function openFullOrg(postgres: Pick<Postgres, 'readRows'>, limit: number): FullOrg {
  return async (org) => {
    const [row] = await postgres.readRows<[number]>(COUNT, [org]);
    return (row?.[0] ?? 0) >= limit ? limit : undefined;
  };
}

const COUNT: Statement = { name: 'objects of an org', text: 'SELECT objects FROM org_counts WHERE org = $1' };
