/**
 * What is kept of a command to show which one it was. Pure.
 *
 * Why: all processes of a work are told of in one message and one answer, and a command may have 2 MiB.
 * I10: SHOWN characters of a command, in which each argument counts ARGUMENT_COST besides.
 */

const SHOWN = 4 * 1024;
const ARGUMENT_COST = 8;

/** The same command when it is short; of a longer one its beginning, the last argument of which ends with `…`. */
export function shownCommand(command: readonly string[]): readonly string[] {
  const shown: string[] = [];
  let left = SHOWN;
  for (const argument of command) {
    left -= ARGUMENT_COST + argument.length;
    if (left < 0) return [...shown, `${beginningOf(argument, left + argument.length)}…`];
    shown.push(argument);
  }
  return command;
}

/** Half a character of two is left out. */
function beginningOf(text: string, length: number): string {
  return text.slice(0, Math.max(0, length)).replace(/[\uD800-\uDBFF]$/, '');
}
