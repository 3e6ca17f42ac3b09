/**
 * The composition root: settings → storage → front door → (with the lease) engine and actors; then signals.
 * The process serves from the start and waits for the lease; while another holds it, it is a standby and says so.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openHttp } from '../../http/server.js';
import { readCatalog } from './catalog/read.js';
import { hostFault } from './bindable.js';
import { openLeaderFacade } from './leader-facade.js';
import { letHeapGrow } from './heap.js';
import { certificateOf, httpConfig, keepRenewed } from './http-config.js';
import { reachable } from './host.js';
import { endSoon } from './shutdown-watchdog.js';
import { announceListening, retractListening } from './listening.js';
import { openLog, type Log } from './log.js';
import { openMetrics } from './metrics.js';
import { openEmbeddedPostgres } from './postgres/open.js';
import { privateOnce } from './private-file.js';
import { refusedStart } from './startup-error.js';
import { stopSignal } from './signals.js';
import { openSsh, type Ssh } from './ssh.js';
import { readVersion } from './version.js';
import { openBrowserSessionKey } from './browser-session-key.js';
import { runWhileLeader } from './leadership.js';
import { readWebhookCa } from './webhook-ca.js';
import { welcome } from './welcome.js';
import { openBlobs } from '../../storage/blobs/blobs.js';
import { byteSealer } from '../../storage/envelope/bytes.js';
import { loadMasterKeys } from '../../storage/envelope/key-file.js';
import { openSecretVersions } from '../../storage/envelope/secret-versions.js';
import { checkDeployment } from '../../storage/deployment.js';
import { openStore } from '../../storage/open.js';
import { loadConfig, type Config } from '../config.js';
import { KINDS } from '../kinds/index.js';

async function main(config: Config): Promise<void> {
  const log = openLog(config.logLevel);
  const stopping = stopSignal((signal) => log.info({ signal }, 'stopping: running work goes on'));
  // A standby finds out now as well, and not when it has to take over.
  await readCatalog(undefined, config.catalogDir);
  const webhookCa = await readWebhookCa(config.webhookCa);
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  const postgres = config.databaseUrl
    ? undefined
    : await openEmbeddedPostgres({ dataDir: config.dataDir, log: (line) => log.info(line), signal: stopping });
  try {
    await serve(config, postgres?.url ?? config.databaseUrl ?? '', webhookCa, log, stopping);
  } finally {
    await postgres?.close();
  }
  endSoon(log);
}

async function serve(
  config: Config,
  databaseUrl: string,
  webhookCa: Awaited<ReturnType<typeof readWebhookCa>>,
  log: Log,
  stopping: AbortSignal,
): Promise<void> {
  const holder = await privateOnce(join(config.dataDir, 'id'), randomUUID);
  const setting = config.masterKeys?.map((key) => key.toString('base64')).join(',');
  const keys = await loadMasterKeys({ setting, dir: config.dataDir });
  const { sealBytes: seal, openBytes: open } = byteSealer(keys);
  const compaction = { age: config.watchHistorySeconds * 1_000, bytes: config.watchHistoryBytes };
  const store = await openStore({ url: databaseUrl, seal, open, compaction, readers: config.databaseReaders });
  await checkDeployment(store.postgres, { keys, blobDir: config.blobDir });
  const secrets = openSecretVersions(keys, store.fetchSealed);
  const { pool } = store.postgres;
  const { quotaBytes, blobKeepSeconds: unusedSeconds, diskReserve: reserveBytes } = config;
  const blobs = await openBlobs({
    dir: config.blobDir,
    pool,
    quotaBytes,
    reserveBytes,
    unusedSeconds,
    now: store.clock,
  });

  const facade = openLeaderFacade(store, blobs);
  const version = await readVersion();
  const metrics = openMetrics({ log, version, pool, active: () => facade.health.active() });
  const certificate = await certificateOf(config);
  const http = await openHttp({
    ...facade,
    config: await httpConfig(config, certificate, log),
    kinds: KINDS,
    credentials: store.credentials,
    log,
    metrics: metrics.registry,
    clock: store.clock,
    browserSessionKey: await openBrowserSessionKey(store.postgres, keys, log),
    randomBytes,
  });
  const host = reachable(config.host);
  const listening = {
    pid: process.pid,
    http: `http://${host}:${http.httpPort}`,
    https: http.httpsPort === undefined ? undefined : `https://${host}:${http.httpsPort}`,
  };
  keepRenewed(config, certificate, http, log, stopping);
  await announceListening(config.dataDir, 'standby', listening);

  let ssh: Ssh | undefined;
  try {
    await runWhileLeader(
      {
        ...{ config, databaseUrl, store, secrets, keys, blobs, metrics, facade, log, holder, webhookCa },
        async openEndpoints() {
          ssh = await openSsh(config, store, keys, facade, log);
          const base = config.publicUrl ?? listening.https ?? listening.http;
          return { base, toolDomain: config.toolDomain, ...ssh.facts };
        },
        onChange: facade.onChange(http.authenticator, { changed: (address) => ssh?.door?.changed(address) }),
        async drain() {
          ssh?.door?.endAll('this service is stopping; connect again in a moment');
          await http.drain();
        },
        async onReady({ newOwnerKey }) {
          http.authenticator.forgetAll(); // what it knew is from before another process's term
          const lines = await welcome({ dataDir: config.dataDir, listening, ca: certificate?.ca, newOwnerKey });
          await announceListening(config.dataDir, 'listening', listening);
          for (const line of lines) log.info(line);
        },
        async onEnd() {
          await ssh?.door?.close();
          ssh = undefined;
          // On a full disk the old word stays until the next one.
          await announceListening(config.dataDir, 'standby', listening).catch(() => undefined);
        },
      },
      stopping,
    );
  } finally {
    // Also when a take-over is refused, which ends the process.
    await retractListening(config.dataDir);
  }
  await http.close();
  await store.close();
}

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
