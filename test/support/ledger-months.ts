/** Moves what was posted so far into an earlier month, as if it had been posted then. */
import type { Pool } from 'pg';

/** Answers that month. `ago`: 1 is the month before this one. */
export async function postedMonthsAgo(pool: Pick<Pool, 'query'>, ago: number): Promise<string> {
  const { rows } = await pool.query<{ month: string }>(
    `SELECT to_char(date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => $1), 'YYYY-MM') AS month`,
    [ago],
  );
  const month = rows[0]?.month ?? '';
  for (const table of ['postings', 'lines']) {
    const partition = `${table}_${month.replace('-', '_')}`;
    const from = `'${month}-01 00:00:00+00'::timestamptz`;
    const bounds = await pool.query<{ ends: string }>(
      `SELECT to_char((${from} AT TIME ZONE 'UTC') + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00' AS ends`,
    );
    const ends = bounds.rows[0]?.ends ?? '';
    await pool.query(
      `CREATE TABLE IF NOT EXISTS ${partition} PARTITION OF ${table} FOR VALUES FROM ('${month}-01 00:00:00+00') TO ('${ends}')`,
    );
    // One distance for all, so that the lines keep the time of their posting.
    const distance = `(SELECT date_trunc('month', now() AT TIME ZONE 'UTC') - ('${month}-01')::timestamp)`;
    await pool.query(
      `UPDATE ${table} SET time = time - ${distance} WHERE time >= date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'`,
    );
  }
  return month;
}
