/**
 * `npm start`: makes the clone ready when it is not, then becomes the service: `dist/src/main.js` runs in this very
 * process, so signals and exit codes need no passing on. It takes no arguments but `--help`; others are refused before
 * anything is done.
 */
import { prepare } from './prepare.mjs';

const HELP = new Set(['--help', '-h']);
const given = process.argv.slice(2);
const unknown = given.find((argument) => !HELP.has(argument));
if (unknown !== undefined) {
  process.stderr.write(
    `troupe: there is no argument "${unknown}". \`npm start\` starts the service, Ctrl-C or SIGTERM stops it, and ` +
      '`npm start -- --help` prints the settings, which are environment variables.\n',
  );
  process.exit(2);
}

try {
  await prepare();
} catch (error) {
  process.stderr.write(`troupe: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

if (given.length > 0) {
  const { settingsText } = await import('../dist/ops/settings.js');
  process.stdout.write(`npm start\n\nSettings are environment variables:\n\n${settingsText()}`);
} else {
  await import('../dist/src/main.js');
}
