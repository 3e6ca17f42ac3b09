/** Owns the step from settings to what the front door is given. */
import type { HttpConfig } from '../http/deps.js';
import { API_GROUP } from '../src/brand.js';
import type { Config } from '../src/config.js';
import { openCertificate, type ServerCertificate } from './tls/open.js';
import { readVersion } from './version.js';

/** Undefined when TLS is off. */
export async function certificateOf(config: Config): Promise<ServerCertificate | undefined> {
  if (config.tlsPort === 'off') return undefined;
  const { dataDir, host, tlsCert: cert, tlsKey: key } = config;
  const own = cert !== undefined && key !== undefined ? { cert, key } : undefined;
  return openCertificate({ dataDir, host, own }, new Date());
}

export async function httpConfig(config: Config, certificate: ServerCertificate | undefined): Promise<HttpConfig> {
  const { bodyBytes, requestSeconds, inFlightRequests, drainSeconds, watchers: streams, tlsPort } = config;
  return {
    host: config.host,
    port: config.port,
    tls: certificate && tlsPort !== 'off' ? { port: tlsPort, key: certificate.key, cert: certificate.cert } : undefined,
    group: API_GROUP,
    productVersion: await readVersion(),
    limits: { bodyBytes, requestSeconds, inFlightRequests, streams, drainSeconds },
  };
}
