/**
 * Finds the values of a Secret in texts that were meant to hold none. The values stay in here: the answer is which texts
 * hold one (I11).
 *
 * A value of WITHIN bytes and more is found anywhere in a text (`postgres://user:<value>@host`). A shorter one counts only
 * when it is the whole text, and a word that stands in every other environment by itself does not count at all.
 */

const WITHIN = 8;
const SHORTEST = 4;
const COMMON = /^(?:true|false|null|none|on|off|yes|no|\d{1,5}|debug|info|warn|error|prod|production|test|dev)$/i;

/** Positions of the texts that hold one of the values. */
export function recognise(values: Iterable<Buffer>, texts: readonly string[]): readonly number[] {
  const secrets = [...values].filter((value) => value.length >= SHORTEST && !COMMON.test(value.toString('latin1')));
  if (secrets.length === 0) return [];
  return texts.flatMap((text, position) => {
    const bytes = Buffer.from(text, 'utf8');
    const holds = secrets.some((value) => (value.length >= WITHIN ? bytes.includes(value) : bytes.equals(value)));
    return holds ? [position] : [];
  });
}
