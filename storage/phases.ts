/**
 * Counts objects with work under way by kind and phase, over all orgs: for the metrics of the process, which name no org.
 * Walks the partial index of active objects of these kinds, at most MOST of each.
 */
import type { Postgres, Statement } from './postgres.js';

const MOST = 20_000;

export interface CountedPhase {
  readonly kind: string;
  readonly phase: string;
  readonly count: number;
}

/** `phase` is `Unknown` while an object has none. */
export async function countPhases(
  postgres: Pick<Postgres, 'readRows'>,
  kinds: readonly string[],
): Promise<readonly CountedPhase[]> {
  const rows = await postgres.readRows<[string, string, number]>(COUNT, [kinds, MOST]);
  return rows.map(([kind, phase, count]) => ({ kind, phase, count }));
}

/** Bodies are text with a blank for the version, no JSON of Postgres; what a client writes cannot hold an unescaped quote. */
const COUNT: Statement = {
  name: 'count phases',
  text: `SELECT k.kind, coalesce(substring(o.body FROM '"status":\\{(?:[^{}]|\\{[^{}]*\\})*?"phase":"([A-Za-z]+)"'), 'Unknown') AS phase, count(*)
    FROM unnest($1::text[]) AS k (kind)
    CROSS JOIN LATERAL (SELECT body FROM objects WHERE active AND objects.kind = k.kind LIMIT $2) AS o
    GROUP BY 1, 2`,
};
