/** Reads sealed secret versions. Only the envelope opens them (I11). */
import type { Postgres, Statement } from './postgres.js';

export function fetchSealed(postgres: Postgres) {
  return async (org: string, uid: string, version: number): Promise<Buffer | undefined> => {
    const [row] = await postgres.readRows<[Buffer]>(FETCH, [org, uid, version]);
    return row?.[0];
  };
}

const FETCH: Statement = {
  name: 'sealed secret',
  text: 'SELECT sealed FROM secret_versions WHERE org = $1 AND uid = $2 AND version = $3',
};
