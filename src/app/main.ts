/**
 * The composition root: settings, Postgres, storage, HTTP; then, whenever this process has the lease, all that the leader runs;
 * then the end. HTTP is served from the start: a standby says that it is one.
 */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig, type Config } from '../config.js';
import { ignoreOutputErrors } from '../output-errors.js';
import { hostFault } from './bindable.js';
import { readCatalog } from './catalog/read-catalog.js';
import { readUpstreams } from './catalog/upstreams.js';
import { checkPrices, readPriceBook, type PriceBookFile } from './catalog/prices.js';
import { openEndpoints } from './endpoints.js';
import { openFrontEnd } from './front-end.js';
import { letHeapGrow } from './heap.js';
import { openLeaderFacade } from './leader-facade.js';
import { runWhileLeader } from './leadership.js';
import { announceListening, retractListening } from './listening.js';
import { openLog, type OpenedLog } from './log.js';
import { openMetrics } from './metrics.js';
import { openEmbeddedPostgres } from './postgres/embedded.js';
import { privateOnce } from './private-file.js';
import { endSoon } from './shutdown-watchdog.js';
import { stopSignal } from './signals.js';
import { refusedStart } from './startup-error.js';
import { openStorage } from './storage.js';
import { readVersion } from './version.js';
import { readWebhookCa } from './webhook-ca.js';

async function main(config: Config): Promise<void> {
  const opened = openLog(config.logLevel);
  const { log } = opened;
  const stopping = stopSignal((signal) => log.info({ signal }, 'stopping: running work goes on'));
  // A standby finds out now as well, and not when it has to take over.
  const prices = await readPriceBook(config.priceBook);
  await readUpstreams(config.upstreams, await readCatalog(undefined, prices.book, config.catalogDir), prices.book);
  const webhookCa = await readWebhookCa(config.webhookCa);
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  const postgres = config.databaseUrl
    ? undefined
    : await openEmbeddedPostgres({ dataDir: config.dataDir, log: (line) => log.info(line), signal: stopping });
  try {
    await serve(config, postgres?.url ?? config.databaseUrl ?? '', { webhookCa, prices }, opened, stopping);
  } finally {
    await postgres?.close();
  }
  endSoon(log);
}

/** What was read from the operator's files. */
interface Files {
  readonly webhookCa: readonly string[] | undefined;
  readonly prices: PriceBookFile;
}

async function serve(
  config: Config,
  databaseUrl: string,
  { webhookCa, prices }: Files,
  { log, lostLines }: OpenedLog,
  stopping: AbortSignal,
): Promise<void> {
  const holder = await privateOnce(join(config.dataDir, 'id'), randomUUID);
  const storage = await openStorage(config, databaseUrl, (org, bytes) => facade.onStorageFull(org, bytes));
  await checkPrices(prices, storage.store.postgres);
  const { store, blobs } = storage;
  const facade = openLeaderFacade(store, blobs);
  const active = (): boolean => facade.health.active();
  const metrics = openMetrics({ log, lostLines, version: await readVersion(), pool: store.postgres.pool, active });
  const frontEnd = await openFrontEnd(config, storage, facade, metrics, log, stopping);
  await announceListening(config.dataDir, 'standby', frontEnd.listening);
  try {
    const endpoints = openEndpoints(config, storage, frontEnd, facade, log);
    const rest = { config, databaseUrl, metrics, facade, log, holder, webhookCa };
    await runWhileLeader({ ...storage, ...endpoints, ...rest }, stopping);
  } finally {
    // Also when a take-over is refused, which ends the process.
    await retractListening(config.dataDir);
  }
  await frontEnd.http.close();
  await store.close();
}

ignoreOutputErrors();
const loaded = loadConfig(process.env);
const fault = loaded.outcome === 'Config' ? await hostFault(loaded.config.host) : undefined;
if (loaded.outcome === 'Invalid') {
  for (const line of loaded.lines) console.error(line);
  process.exitCode = 2;
} else if (fault !== undefined) {
  console.error(`HOST: ${JSON.stringify(loaded.config.host)} ${fault}`);
  process.exitCode = 2;
} else {
  letHeapGrow();
  await main(loaded.config).catch(refusedStart);
}
