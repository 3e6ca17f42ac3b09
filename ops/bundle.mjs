/**
 * The last step of the build: makes one file of each program and of the packages that it always needs, in place of what the compiler made of
 * its entry. A start then reads one file instead of two thousand, which was a third of its processor time; and a process that lives on while
 * its clone is updated and built anew never reads a file of another version. Packages that are imported only when they are wanted stay where
 * npm put them, and so do those of OUTSIDE. What else there is in `dist` is for tests and tools.
 *
 * Programs in other languages (`.pl`, `.sh`) lie beside the module that reads them: their text becomes part of the bundles, and `dist` has a copy of
 * each for the modules that the compiler made.
 */
import { readFileSync } from 'node:fs';
import { cp, readFile, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const HOME = dirname(dirname(fileURLToPath(import.meta.url)));
/** The service, the threads that it reads YAML and large requests to models in, the runner that it starts, and the proxy process that both start. */
const PROXY = 'src/engines/compute/shared/egress/main';
const PROGRAMS = ['src/app/main', 'http/yaml/worker', 'http/inference/worker', 'src/runner/main', PROXY];
/** Copied to where no package is found. */
const ALONE = new Set([PROXY]);
/** Packages with parts that are no JavaScript, and those that others try to load and do without. */
const OUTSIDE = ['ssh2', 'msgpackr-extract', 'pg-native', 'bufferutil', 'utf-8-validate', '@valkey/valkey-glide'];
/** What packages of CommonJS load the modules of Node with. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`;

const compiled = (source) => join(HOME, 'dist', relative(HOME, source).replace(/\.ts$/, '.js'));

/** How a module reads a program that lies beside it. */
const READS_PROGRAM = /readFileSync\(new URL\('([^']+\.(?:pl|sh))', import\.meta\.url\), 'utf8'\)/g;

/** Takes in the programs that a module reads. A module that asks for its own address otherwise means the place that the compiler gave it. */
const ownAddress = (outdir) => ({
  name: 'own address',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const address = relative(outdir, compiled(path));
      const text = (await readFile(path, 'utf8')).replaceAll(READS_PROGRAM, (_, name) =>
        JSON.stringify(readFileSync(join(dirname(path), name), 'utf8')),
      );
      if (/\.(pl|sh)', import/.test(text)) throw new Error(`${path} reads a program in a way that is not known`);
      return {
        contents: text.replaceAll('import.meta.url', `new URL(${JSON.stringify(address)}, import.meta.url).href`),
        loader: 'ts',
      };
    }),
});

/** A package that is imported in the middle of a program is not needed at its start. */
const whenWanted = {
  name: 'when wanted',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^[^./]/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    ),
};

await cp(join(HOME, 'src'), join(HOME, 'dist', 'src'), {
  recursive: true,
  filter: async (path) => /\.(pl|sh)$/.test(path) || (await stat(path)).isDirectory(),
});

await Promise.all(
  PROGRAMS.map(async (program) => {
    const outfile = join(HOME, 'dist', `${program}.js`);
    const { metafile } = await build({
      metafile: true,
      entryPoints: [join(HOME, `${program}.ts`)],
      outfile,
      bundle: true,
      external: OUTSIDE,
      banner: ALONE.has(program) ? {} : { js: REQUIRE },
      platform: 'node',
      format: 'esm',
      target: 'node20',
      // A literal that is spread into another becomes part of it: V8 takes microseconds for each property behind a spread that comes first.
      minifySyntax: true,
      sourcemap: true,
      // Half of the map, which Node reads at each start that shows places of the sources.
      sourcesContent: false,
      logLevel: 'warning',
      plugins: [whenWanted, ownAddress(dirname(outfile))],
    });
    const packages = Object.values(metafile.outputs)
      .flatMap(({ imports }) => imports)
      .filter(({ external, path }) => external && !path.startsWith('node:'))
      .map(({ path }) => path);
    if (ALONE.has(program) && packages.length > 0)
      throw new Error(`${program} has to do without packages, and imports ${packages.join(', ')}`);
  }),
);
