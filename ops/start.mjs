/**
 * `npm start`: makes the clone ready when it is not, then becomes the service: `dist/src/main.js` runs in this very
 * process, so signals and exit codes need no passing on.
 */
import { prepare } from './prepare.mjs';

try {
  await prepare();
} catch (error) {
  process.stderr.write(`troupe: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

if (process.argv.includes('--help') || process.argv.includes('-h')) {
  const { settingsText } = await import('../dist/ops/settings.js');
  process.stdout.write(`npm start\n\nSettings are environment variables:\n\n${settingsText()}`);
} else {
  await import('../dist/src/main.js');
}
