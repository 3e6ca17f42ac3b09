/**
 * Raises the versions of a database that was restored from a backup. Clients have seen versions that this database has never given; were it
 * to give them again, a watch from one of them would silently leave out what was written in between. So the clock goes on far
 * above all of them, and the log begins there: every version from before is below its floor, and answered with 410.
 *
 * Versions stay gapless above the floor (I4), and far below 2^53: there is room for 9,000 restores.
 */
import type { Postgres } from './postgres.js';

/** More versions than can have been given since any backup: 5,000 a second for six years. */
export const VERSIONS_SKIPPED = 1_000_000_000_000;

/** For `UPDATE clock SET`. */
export const RAISED = `version = version + ${VERSIONS_SKIPPED}, floor = version + ${VERSIONS_SKIPPED}`;

/**
 * For the holder of the lease of this epoch, before it opens the committer. Answers the version at which it goes on; undefined: another
 * process has taken the lease meanwhile. Is on the disk when it is answered. Done twice, it skips twice.
 */
export async function raiseVersions(postgres: Postgres, epoch: number): Promise<number | undefined> {
  const client = await postgres.connect(
    'restore',
    { synchronous_commit: 'on', statement_timeout: `${ANSWER_WITHIN}ms` },
    { answerWithin: ANSWER_WITHIN },
  );
  try {
    // I3
    const text = `UPDATE clock SET ${RAISED} WHERE epoch = $1 RETURNING version`;
    const { rows } = await client.query<{ version: number }>(text, [epoch]);
    return rows[0]?.version;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Longest wait for the answer (ms). */
const ANSWER_WITHIN = 5_000;
