/** `npm run bench [-- part …]`: makes the clone ready, then measures the real service. Help: `npm run bench -- --help`. */
import { prepare } from './prepare.mjs';

await prepare();
await import('../dist/ops/bench/main.js');
