/**
 * Writes one line for each answered request, where the operator wants that. It holds who asked for which path and what became
 * of it: no query, no header and no body (I11), and of the credential the uid only.
 */
import type { HttpLog } from './deps.js';
import type { Exchange } from './exchange.js';

export type AccessLog = (x: Exchange, status: number) => void;

export function openAccessLog(log: Pick<HttpLog, 'info'>): AccessLog {
  return (x, status) => {
    const { caller } = x;
    const fields = {
      ...{ method: x.method, path: x.path.slice(0, 1_024), status },
      seconds: Math.round(performance.now() - x.startedAt) / 1_000,
      ...{ requestId: x.requestId, traceId: x.traceId, from: x.from },
      ...{ org: caller?.org, key: caller?.holder.split('/')[0] },
    };
    log.info(fields, 'request');
  };
}
