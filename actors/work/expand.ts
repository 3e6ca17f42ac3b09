/**
 * Expands references to variables in a Job's spec: `$(NAME)` in command, args and values of env, as Kubernetes has them. An
 * unknown name stays as it is written, so that `$(date)` is still the shell's; `$$(NAME)` is a written `$(NAME)`. Other than
 * in Kubernetes, `$$` that no reference follows stays: it is the shell's process id. Pure.
 */

/** As in an environment: what is no name is no reference. */
const REFERENCE = /(\$+)\(([-._A-Za-z0-9]+)\)/g;

/** Bytes that the kernel takes as one argument or variable. */
const MOST_EACH = 128 * 1024;
/** Characters of all that was expanded for one process: the kernel takes no more of arguments and environment together. */
export const MOST_TOGETHER = 2 * 1024 * 1024;

/** Variables that refer to each other can double with each line, so that a few of them would fill any memory. */
export class ExpansionTooLarge extends Error {}

export class Expansion {
  #left = MOST_TOGETHER;

  /** Throws ExpansionTooLarge. */
  expand(text: string, variables: Readonly<Record<string, string>>): string {
    if (!text.includes('$(')) return text;
    let length = text.length;
    const grow = (by: number): void => {
      length += by;
      if (length > Math.min(MOST_EACH, this.#left)) throw new ExpansionTooLarge();
    };
    const expanded = text.replace(REFERENCE, (written: string, dollars: string, name: string) => {
      const literal = '$'.repeat(Math.floor(dollars.length / 2));
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      const meant = dollars.length % 2 === 0 ? `(${name})` : (value ?? `$(${name})`);
      grow(literal.length + meant.length - written.length);
      return literal + meant;
    });
    this.#left -= expanded.length;
    return expanded;
  }
}
