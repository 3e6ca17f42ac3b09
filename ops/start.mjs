/**
 * `npm start`: makes the clone ready when it is not, then becomes the service: `dist/src/app/main.js` runs in this very
 * process, so signals and exit codes need no passing on. It takes no arguments but `--help` and `--settings`; others are
 * refused before anything is done.
 */
import { prepare } from './prepare.mjs';

const HELP = new Set(['--help', '-h']);
const SETTINGS = '--settings';
const given = process.argv.slice(2);
const unknown = given.find((argument) => !HELP.has(argument) && argument !== SETTINGS);
if (unknown !== undefined) {
  process.stderr.write(
    `troupe: there is no argument "${unknown}". \`npm start\` starts the service, Ctrl-C or SIGTERM stops it, and ` +
      '`npm start -- --help` says more.\n',
  );
  process.exit(2);
}

try {
  await prepare({ tests: false });
} catch (error) {
  process.stderr.write(`troupe: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

if (given.length > 0) {
  const { helpText, settingsText } = await import('../dist/src/app/settings-help.js');
  process.stdout.write(given.includes(SETTINGS) ? settingsText() : helpText());
} else {
  await import('../dist/src/app/main.js');
}
