/**
 * Owns what the database knows of the formats in it: the highest of each form that any program has claimed. A program
 * claims its own before it writes a row, and one that is older than a claim refuses to start; so no row has to be looked at.
 */
import { FORMATS, type Formats } from './formats.js';
import { DatabaseNewerError } from './newer.js';
import type { Postgres, Statement } from './postgres.js';

/** Throws `DatabaseNewerError` when a newer program has written here; then nothing is claimed. */
export async function claimFormats(postgres: Postgres, formats: Formats = FORMATS): Promise<void> {
  const claims = Object.entries(formats);
  const claimed = await postgres.readRows<[string, number]>(CLAIMED, []);
  for (const [what, highest] of claimed) {
    const [, ours] = claims.find(([name]) => name === what) ?? [];
    const known = ours === undefined ? `nothing of ${what}` : `formats of ${what} up to ${ours.current}`;
    if (highest > (ours?.current ?? 0)) throw new DatabaseNewerError(`${what} in format ${highest}`, known);
  }
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
