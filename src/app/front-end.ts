/** HTTP and HTTPS of this process: open from its start to its end, also while it is a standby. */
import { randomBytes } from 'node:crypto';
import { openHttp, type Http } from '../../http/server.js';
import type { Config } from '../config.js';
import { KINDS } from '../kinds/index.js';
import { openBrowserSessionKey } from './browser-session-key.js';
import { reachable } from './host.js';
import { certificateOf, httpConfig, keepRenewed } from './http-config.js';
import type { LeaderFacade } from './leader-facade.js';
import type { Listening } from './listening.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import type { Storage } from './storage.js';

export interface FrontEnd {
  readonly http: Http;
  readonly listening: Listening;
  /** CA of our own certificate (PEM); undefined: the certificate is the operator's, or TLS is off. */
  readonly ca: string | undefined;
}

/** Renews its certificate until `stopping` is aborted. */
export async function openFrontEnd(
  config: Config,
  { store, keys }: Pick<Storage, 'store' | 'keys'>,
  facade: LeaderFacade,
  metrics: Pick<Metrics, 'registry'>,
  log: Log,
  stopping: AbortSignal,
): Promise<FrontEnd> {
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
  keepRenewed(config, certificate, http, log, stopping);
  const host = reachable(config.host);
  const listening = {
    pid: process.pid,
    http: `http://${host}:${http.httpPort}`,
    https: http.httpsPort === undefined ? undefined : `https://${host}:${http.httpsPort}`,
  };
  return { http, listening, ca: certificate?.ca };
}
