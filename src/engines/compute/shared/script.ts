/**
 * Prepares programs in other languages. They lie in `.pl` and `.sh` files beside the module that starts them, which reads them when it is
 * loaded. The build puts their text into the bundles (`ops/bundle.mjs`), so a process never reads a program of another version than its own.
 */

/** Leaves out what is for readers only: lines of comments, and indentation. The program must have no text over several lines that needs either. */
export function bareScript(source: string): string {
  return source.replaceAll(/^ *(#.*)?\n/gm, '').replaceAll(/^ +/gm, '');
}
