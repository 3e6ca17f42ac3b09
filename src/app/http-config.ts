/** The configuration of HTTP and TLS, from the settings. */
import type { HttpConfig } from '../../http/deps.js';
import type { Http } from '../../http/server.js';
import { API_GROUP } from '../brand.js';
import type { Config } from '../config.js';
import type { Log } from './log.js';
import { connectionsWithin, openFilesLimit } from './descriptors.js';
import { hostOf } from './host.js';
import {
  openCertificate,
  renewCertificate,
  type CertificateOptions,
  type ServerCertificate,
} from './tls/certificate.js';
import { readVersion } from './version.js';

/** Undefined when TLS is off. */
export async function certificateOf(config: Config): Promise<ServerCertificate | undefined> {
  return config.tlsPort === 'off' ? undefined : openCertificate(optionsOf(config), new Date());
}

/** Shows a new certificate as soon as there is one, until the signal ends it. */
export function keepRenewed(
  config: Config,
  certificate: ServerCertificate | undefined,
  http: Pick<Http, 'renewCertificate'>,
  log: Log,
  signal: AbortSignal,
): void {
  if (certificate === undefined) return;
  const onNew = (renewed: ServerCertificate): void => {
    http.renewCertificate(renewed);
    log.info('the certificate was renewed');
  };
  const onError = (error: unknown): void =>
    log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'the certificate could not be renewed');
  void renewCertificate(optionsOf(config), certificate, onNew, onError, signal);
}

function optionsOf({ dataDir, host, publicUrl, toolDomain, tlsCert: cert, tlsKey: key }: Config): CertificateOptions {
  const hosts = [host, ...(publicUrl === undefined ? [] : [hostOf(publicUrl)])];
  return {
    dataDir,
    hosts,
    below: toolDomain,
    own: cert !== undefined && key !== undefined ? { cert, key } : undefined,
  };
}

export async function httpConfig(
  config: Config,
  certificate: ServerCertificate | undefined,
  log: Log,
): Promise<HttpConfig> {
  const { bodyBytes, requestSeconds, drainSeconds, watchers: streams, tlsPort } = config;
  return {
    host: config.host,
    port: config.port,
    tls: certificate && tlsPort !== 'off' ? { port: tlsPort, key: certificate.key, cert: certificate.cert } : undefined,
    group: API_GROUP,
    productVersion: await readVersion(),
    publicUrl: config.publicUrl,
    metricsOpen: config.metrics === 'open' || (config.metrics === 'auto' && isLocal(config)),
    accessLog: config.accessLog === 'on',
    toolDomain: config.toolDomain,
    limits: {
      ...{ bodyBytes, requestSeconds, streams, drainSeconds },
      inFlight: { all: config.inFlightRequests, org: config.orgInFlightRequests, key: config.keyInFlightRequests },
      bodyMemoryBytes: config.bodyMemoryBytes,
      streamsPerKey: config.keyWatchers,
      connections: { all: connectionsWithin(openFilesLimit(), log) },
      rates: {
        key: config.keyRequestsPerSecond,
        org: config.orgRequestsPerSecond,
        address: config.addressRequestsPerSecond,
      },
    },
  };
}

/** Only this machine reaches it, not by a proxy either. */
export function isLocal({ host, publicUrl }: Pick<Config, 'host' | 'publicUrl'>): boolean {
  return publicUrl === undefined && /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(host);
}
