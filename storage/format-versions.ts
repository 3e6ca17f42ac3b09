/**
 * The formats in the database: the highest of each form that any program has claimed. The leader
 * claims its own before it writes a row, and a program that is older than a claim refuses the database; so no row has to
 * be looked at.
 */
import { FORMATS, type Formats } from './formats.js';
import { DatabaseNewerError } from './schema-newer-error.js';
import type { Postgres, Statement } from './postgres.js';

/** Throws `DatabaseNewerError` when a newer program has written here. */
export async function checkFormats(postgres: Postgres, formats: Formats = FORMATS): Promise<void> {
  const claims = Object.entries(formats);
  for (const [what, highest] of await postgres.readRows<[string, number]>(CLAIMED)) {
    const [, ours] = claims.find(([name]) => name === what) ?? [];
    const known = ours === undefined ? `nothing of ${what}` : `formats of ${what} up to ${ours.current}`;
    if (highest > (ours?.current ?? 0)) throw new DatabaseNewerError(`${what} in format ${highest}`, known);
  }
}

/**
 * For the process that has the lease. A standby claims nothing: the older process that is active may have to be started again.
 * Throws as `checkFormats` does; then nothing is claimed.
 */
export async function claimFormats(postgres: Postgres, formats: Formats = FORMATS): Promise<void> {
  await checkFormats(postgres, formats);
  const claims = Object.entries(formats);
  await postgres.write(CLAIM, [claims.map(([what]) => what), claims.map(([, { current }]) => current)]);
}

const CLAIMED: Statement = { name: 'claimed formats', text: 'SELECT what, highest FROM formats' };

/** Precondition: none of these is lower than what is claimed. Result: they are claimed. */
const CLAIM: Statement = {
  name: 'claim formats',
  text: `
INSERT INTO formats (what, highest) SELECT * FROM unnest($1::text[], $2::smallint[])
ON CONFLICT (what) DO UPDATE SET highest = excluded.highest WHERE formats.highest < excluded.highest`,
};
