/**
 * What the crash test of money looks at in the database itself: a witness, which sees every change of a counter in the transaction that makes it,
 * and comparisons of holds, postings and objects, each of one moment.
 */
import pg from 'pg';

/**
 * I7: what is spent and held on a limited counter never grows past its limit. A lowered limit may stand below what is spent and held already, and
 * a Budget that begins in the middle of a month may begin above its limit. A Budget that was made under running work takes in what that
 * holds already, whether there is room or not (`rebind_at`, for a second or two after it was made). Limits of the same transaction that were larger
 * count, since their order in it is not seen.
 */
const WITNESS = `
CREATE SCHEMA witness;
CREATE TABLE witness.limits (org text, counter text, limit_usd numeric, transaction xid8 DEFAULT pg_current_xact_id());
CREATE TABLE witness.passed (org text, counter text, was numeric, now numeric, limit_usd numeric, time timestamptz DEFAULT clock_timestamp());

-- A stored object has no version yet.
CREATE FUNCTION witness.status_of(body text) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT regexp_replace(body, '"metadata":\\{"resourceVersion": +', '"metadata":{"resourceVersion":""')::json -> 'status'
$$;

CREATE FUNCTION witness.note_limit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM witness.limits WHERE transaction <> pg_current_xact_id();
  INSERT INTO witness.limits (org, counter, limit_usd) VALUES (OLD.org, TG_ARGV[0] || OLD.uid, OLD.limit_usd);
  RETURN NULL;
END $$;
CREATE TRIGGER witness AFTER UPDATE OR DELETE ON budgets FOR EACH ROW EXECUTE FUNCTION witness.note_limit('budget/');
CREATE TRIGGER witness AFTER UPDATE OR DELETE ON caps FOR EACH ROW EXECUTE FUNCTION witness.note_limit('cost/');

CREATE FUNCTION witness.look() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  limited numeric;
  was numeric := 0;
  now numeric := NEW.spent_usd + NEW.held_usd - NEW.opening_usd;
BEGIN
  IF TG_OP = 'UPDATE' THEN was := OLD.spent_usd + OLD.held_usd - OLD.opening_usd; END IF;
  IF now <= was THEN RETURN NULL; END IF;
  IF EXISTS (
    SELECT FROM budgets WHERE org = NEW.org AND NEW.counter LIKE 'budget/' || uid || '/%' AND rebind_at < made + 10000
  ) THEN RETURN NULL; END IF;
  SELECT max(l.limit_usd) INTO limited FROM (
    SELECT limit_usd FROM budgets
    WHERE action = 'Block' AND org = NEW.org AND NEW.counter LIKE 'budget/' || uid || '/%'
    UNION ALL
    SELECT limit_usd FROM caps WHERE org = NEW.org AND NEW.counter = 'cost/' || uid
    UNION ALL
    SELECT limit_usd FROM witness.limits
    WHERE transaction = pg_current_xact_id() AND org = NEW.org AND starts_with(NEW.counter, counter)
  ) l;
  IF NEW.spent_usd + NEW.held_usd > limited THEN
    INSERT INTO witness.passed (org, counter, was, now, limit_usd) VALUES (NEW.org, NEW.counter, was, now, limited);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER witness AFTER INSERT OR UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION witness.look();`;

const PASSED = `
SELECT format('%s went from %s to %s, and its limit is %s', counter, was, now, limit_usd) FROM witness.passed`;

/** Of one moment. An Attempt that has a place runs, and pays; one that is over may still be cleared away, and pays as well. */
const UNPAID = `
SELECT format('%s runs, and holds nothing', o.name) FROM objects o
WHERE o.kind = 'Attempt' AND witness.status_of(o.body) ->> 'phase' IN ('Starting', 'Running')
  AND NOT EXISTS (SELECT FROM holds h WHERE h.org = o.org AND h.key = o.uid)`;

const HOLDERS = `
SELECT format('%s is held by %s: %s %s', h.key, coalesce(o.name, 'nobody'), o.body, o.private)
FROM holds h LEFT JOIN objects o ON o.org = h.org AND o.uid = h.uid`;

const IDLE = `${HOLDERS}
WHERE o.uid IS NULL
  OR (o.kind <> 'Attempt' AND witness.status_of(o.body) ->> 'phase' IN ('Succeeded', 'Failed', 'Cancelled'))`;

/** One that is asked to run holds its money before its phase says so. */
const RESTING = `${HOLDERS}
WHERE o.kind <> 'Attempt' AND witness.status_of(o.body) ->> 'phase' IN ('Suspended', 'Stopped')`;

/** What an object says of its cost, against what was posted for it. */
const MISTOLD = `
WITH posted AS (
  SELECT org, counter, sum(amount_usd) AS spent FROM postings CROSS JOIN unnest(counters) AS c(counter)
  WHERE counter LIKE 'cost/%' GROUP BY org, counter
), told AS (
  SELECT org, kind, name, uid, witness.status_of(body) -> 'cost' AS cost, witness.status_of(body) ->> 'phase' AS phase
  FROM objects WHERE kind IN ('Job', 'Sandbox', 'Sweep', 'Pipeline')
)
SELECT format('%s %s (%s) says %s, and %s was posted', t.kind, t.name, t.phase, t.cost, coalesce(p.spent, 0))
FROM told t LEFT JOIN posted p ON p.org = t.org AND p.counter = 'cost/' || t.uid
WHERE coalesce((t.cost ->> 'totalUSD')::numeric, 0) <> coalesce(p.spent, 0)
  OR coalesce((t.cost ->> 'heldUSD')::numeric, 0) <> 0
  OR (p.spent IS NOT NULL AND t.phase IN ('Succeeded', 'Failed', 'Cancelled') AND (t.cost ->> 'final') IS DISTINCT FROM 'true')`;

const LEFT = `
SELECT format('%s holds %s for %s', counter, held_usd, holders) FROM counters WHERE held_usd <> 0 OR holders <> 0
UNION ALL SELECT format('the hold %s', key) FROM holds`;

/** Everything that is billed happened so much earlier: to the ledger the service was away for that long. */
const AGE = `
UPDATE holds SET
  renew_at = renew_at - $1::bigint,
  body = jsonb_set(jsonb_set(body::jsonb, '{placedAt}', to_jsonb((body::jsonb ->> 'placedAt')::bigint - $1::bigint)),
    '{billing,since}', to_jsonb((body::jsonb -> 'billing' ->> 'since')::bigint - $1::bigint))::text
WHERE body::jsonb ? 'billing'`;

export interface LedgerWitness {
  /** Counters that went past their limit, at any time since this was opened. */
  passed(): Promise<readonly string[]>;
  /** Live work without a hold, and holds without live work. */
  unmatched(): Promise<readonly string[]>;
  /** What rests, and holds money: for a moment, when it is asked to run again. */
  resting(): Promise<readonly string[]>;
  /** Objects whose cost is not what was posted, or not final. For when nothing runs any more. */
  mistold(): Promise<readonly string[]>;
  /** What is held. */
  left(): Promise<readonly string[]>;
  /** What is billed was billed so much earlier. For when the service is down. */
  age(ms: number): Promise<number>;
  /** Lines of this query, whatever it is of. */
  lines(text: string, ...values: unknown[]): Promise<readonly string[]>;
}

/** `connectionString`: of the database, which may be another server's after a crash. */
export async function openLedgerWitness(connectionString: () => Promise<string>): Promise<LedgerWitness> {
  async function ask(text: string, values: readonly unknown[] = []): Promise<pg.QueryArrayResult<string[]>> {
    const client = new pg.Client({ connectionString: await connectionString() });
    // A server that is killed says so here as well.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await client.query<string[]>({ text, values: [...values], rowMode: 'array' });
    } finally {
      await client.end();
    }
  }
  const lines = async (text: string, ...values: unknown[]): Promise<readonly string[]> =>
    (await ask(text, values)).rows.map(([line = '']) => line);
  const client = new pg.Client({ connectionString: await connectionString() });
  await client.connect();
  await client.query(WITNESS);
  await client.end();
  return {
    lines,
    passed: () => lines(PASSED),
    unmatched: () => lines(`${UNPAID} UNION ALL ${IDLE}`),
    resting: () => lines(RESTING),
    mistold: () => lines(MISTOLD),
    left: () => lines(LEFT),
    age: async (ms) => (await ask(AGE, [ms])).rowCount ?? 0,
  };
}
