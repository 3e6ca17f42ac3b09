/**
 * Runs the benchmarks: chooses the parts and their services, and reports the figures. The load comes
 * from this process, the service runs in another (`service.ts`); they share the machine.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Figure, Part, PartContext } from './figure.js';
import { hotSpots } from './hot-spots.js';
import { machineTime, othersPercent } from './neighbours.js';
import { bystander } from './parts/bystander.js';
import { create, get, patch } from './parts/plain.js';
import { gateway } from './parts/gateway.js';
import { jobs } from './parts/jobs.js';
import { hostile } from './parts/hostile.js';
import { ledger } from './parts/ledger.js';
import { list } from './parts/list.js';
import { memory } from './parts/memory.js';
import { crowds } from './parts/crowds.js';
import { openapi } from './parts/openapi.js';
import { pages } from './parts/pages.js';
import { sandboxes } from './parts/sandboxes.js';
import { start } from './parts/start.js';
import { sweeps } from './parts/sweeps.js';
import { translate } from './parts/translate.js';
import { validate } from './parts/validate.js';
import { watch } from './parts/watch.js';
import { webhooks } from './parts/webhooks.js';
import { isMet, keep, machine, table } from './report.js';
import { newDataDir, removeDataDir, startService, type Service } from './service.js';

const PARTS: readonly Part[] = [
  start,
  create,
  get,
  patch,
  watch,
  list,
  pages,
  crowds,
  openapi,
  validate,
  memory,
  jobs,
  ledger,
  sweeps,
  sandboxes,
  webhooks,
  hostile,
  bystander,
  gateway,
  translate,
];
/** Out of `dist/ops/bench` and into the sources: the figures are kept with them. */
const SOURCES = new URL('../../../ops/bench/', import.meta.url);

/** A neighbour that uses more of the machine than this changes the figures. */
const QUIET_PERCENT = 5;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '8' },
    'warm-up': { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    profile: { type: 'boolean', default: false },
    'no-keep': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

interface Run {
  readonly figures: readonly Figure[];
  readonly othersPercent: number;
}

async function run(part: Part): Promise<Run> {
  const opened: { service: Service; dir: string }[] = [];
  const profileDir = values.profile ? await mkdtemp(join(tmpdir(), 'troupe-profile-')) : undefined;
  const context: PartContext = {
    async fresh(options = {}) {
      const dir = await newDataDir();
      const service = await startService({ ...options, dir, profileDir });
      opened.push({ service, dir });
      return service;
    },
    connections: Number(values.connections),
    warmUpSeconds: Number(values['warm-up']),
    seconds: Number(values.seconds),
    log: (line) => say(`  ${line}`),
  };
  const before = await machineTime();
  let work = 0;
  let figures: readonly Figure[];
  try {
    figures = await part.run(context);
  } finally {
    for (const { service, dir } of opened) {
      // The runner outlives its service for a while, so its time does not come back to us as a child's.
      work += (await service.processorSeconds()).work;
      await service.stop();
      await removeDataDir(dir);
    }
    if (profileDir !== undefined) {
      say(`  profiles are in ${profileDir}; by their own time:`);
      for (const line of await hotSpots(profileDir, 30)) say(`  ${line}`);
    }
  }
  return { figures, othersPercent: othersPercent(before, await machineTime(), work) };
}

function help(): void {
  say('npm run bench [-- [options] [part …]]\n\nParts (all, when none is named):');
  for (const part of PARTS) say(`  ${part.name.padEnd(8)} ${part.about}`);
  say('\nOptions:');
  say('  --seconds N      how long each rate is measured (8)');
  say('  --warm-up N      seconds before that (3)');
  say('  --connections N  at once (64)');
  say('  --profile        take CPU profiles of the service and show where the time goes; figures are lower then');
  say('  --no-keep        leave results.json as it is');
}

async function main(): Promise<number> {
  if (values.help) {
    help();
    return 0;
  }
  const unknown = positionals.find((name) => !PARTS.some((part) => part.name === name));
  if (unknown !== undefined) {
    process.stderr.write(`there is no part ${unknown}\n`);
    return 2;
  }
  say(machine());
  const chosen = PARTS.filter((part) => positionals.length === 0 || positionals.includes(part.name));
  const all: Figure[] = [];
  let failed = 0;
  for (const part of chosen) {
    say(`\n${part.name}: ${part.about}`);
    try {
      const { figures, othersPercent: others } = await run(part);
      say(table(figures));
      if (others > QUIET_PERCENT)
        say(`  other programs used ${others} % of the machine meanwhile: measure again when it is quiet`);
      if (!values['no-keep'] && !values.profile) await keep(SOURCES, part.name, { figures, others, time: new Date() });
      all.push(...figures);
    } catch (error) {
      failed += 1;
      process.stderr.write(
        `  ${part.name} could not be measured: ${error instanceof Error ? error.message : String(error)}\n`,
      );
    }
  }
  const targets = all.filter((entry) => entry.atLeast !== undefined || entry.atMost !== undefined);
  say(`\n${targets.filter(isMet).length} of ${targets.length} targets met, ${failed} parts not measured`);
  return failed === 0 ? 0 : 1;
}

// The services that are running end with us.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
process.exitCode = await main();
