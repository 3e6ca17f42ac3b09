/**
 * How packages get into bundles (`bundle.mjs`, `test-bundles.mjs`): those that are always needed become part of them, since to find and read
 * some hundreds of files takes a process longer than to compile them. The others stay where npm put them.
 */

/** Packages with parts that are no JavaScript, and those that others try to load and do without. */
export const OUTSIDE = [
  'ssh2',
  'msgpackr-extract',
  'pg-native',
  'bufferutil',
  'utf-8-validate',
  '@valkey/valkey-glide',
];

/** The first line of a bundle: what packages of CommonJS load the modules of Node with. */
export const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`;

/** A package that is imported in the middle of a program is not needed at its start. */
export const whenWanted = {
  name: 'when wanted',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^[^./]/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    ),
};
