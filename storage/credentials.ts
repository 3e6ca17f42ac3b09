/** Looks up bearer credentials by their hash. The one read that names no org, because it finds the org. */
import type { Postgres, Statement } from './postgres.js';
import type { Credentials } from './store.js';

type Row = [string, string, string, string, string, number | null, string];

export function openCredentials(postgres: Postgres): Credentials {
  return {
    async find(sha256) {
      const [row] = await postgres.readRows<Row>(FIND, [sha256]);
      if (row === undefined) return undefined;
      const [org, kind, project, name, uid, expires, detail] = row;
      const parsed: Record<string, unknown> = JSON.parse(detail);
      return {
        address: { org, kind, project, name },
        uid,
        expires: expires ?? undefined,
        detail: parsed,
      };
    },
  };
}

const FIND: Statement = {
  name: 'credential',
  text: `
SELECT org, kind, project, name, uid, round(extract(epoch FROM expires) * 1000)::float8, detail
FROM credentials WHERE sha256 = $1`,
};
