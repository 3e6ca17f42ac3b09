/** `npm run bench [-- part …]`: builds, then measures the real service. Parts and options: `npm run bench -- --help`. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const built = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '--project', 'tsconfig.json'], {
  cwd: root,
  stdio: 'inherit',
});
if (built.status !== 0) process.exit(built.status ?? 1);
await import('../dist/ops/bench/main.js');
