/**
 * Generates a TypeScript client from a document and compiles programs against it, each in a process of its own as
 * a user has them. The generator prints with TypeScript's programming interface; ours, TypeScript 7, has none, so
 * it is given the one inside @ts-morph/common.
 */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const { resolve } = createRequire(import.meta.url);
/** A generator that hangs fails its test by this, ms. */
const TIMEOUT = 60_000;

const OTHER_TYPESCRIPT = `export const resolve = (name, context, next) =>
  next(name === 'typescript' ? '@ts-morph/common/dist/typescript.js' : name, context);`;
const HOOK = `import { register } from 'node:module';
register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(OTHER_TYPESCRIPT)}`)});`;

/** Writes `api.d.ts` for the document into the directory. */
export async function generateTypes(document: object, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'openapi.json');
  const hook = join(directory, 'hook.mjs');
  await writeFile(file, JSON.stringify(document));
  await writeFile(hook, HOOK);
  const cli = join(dirname(resolve('openapi-typescript/package.json')), 'bin', 'cli.js');
  const to = join(directory, 'api.d.ts');
  // A field with a default may be left out of what is sent.
  await run(process.execPath, ['--import', hook, cli, file, '--output', to, '--default-non-nullable=false'], {
    timeout: TIMEOUT,
  });
}

const STRICT = {
  target: 'es2023',
  module: 'nodenext',
  lib: ['es2023', 'dom'],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: false,
};

/** Compiles programs (name → text) beside the types; answers what the compiler says of each, as `name(line,column): error …`. */
export async function compile(programs: Readonly<Record<string, string>>, directory: string): Promise<string[]> {
  await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: STRICT, files: ['api.d.ts', ...Object.keys(programs)] }),
  );
  for (const [name, text] of Object.entries(programs)) await writeFile(join(directory, name), text);
  const tsc = join(dirname(resolve('typescript/package.json')), 'bin', 'tsc');
  const said = await run(process.execPath, [tsc, '--project', directory, '--pretty', 'false'], {
    cwd: directory,
    timeout: TIMEOUT,
  }).then(
    ({ stdout }) => stdout,
    (error: { readonly stdout?: string; readonly message: string }) => error.stdout ?? error.message,
  );
  return said.split('\n').filter((line) => line !== '');
}
