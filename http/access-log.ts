/**
 * Writes one line for each answered request, where the operator wants that. It holds who asked for which path and what became
 * of it: no query, no header and no body (I11), of the credential the uid only, and of pages of payments not which one: their addresses are keys.
 */
import type { HttpLog } from './deps.js';
import type { Exchange } from './exchange.js';

export type AccessLog = (x: Exchange, status: number) => void;

export function openAccessLog(log: Pick<HttpLog, 'info'>): AccessLog {
  return (x, status) => {
    const { caller } = x;
    const fields = {
      ...{ method: x.method, path: pathOf(x), status },
      seconds: Math.round(performance.now() - x.startedAt) / 1_000,
      ...{ requestId: x.requestId, traceId: x.traceId, from: x.from },
      ...{ org: caller?.org, key: caller?.holder.split('/')[0] },
    };
    log.info(fields, 'request');
  };
}

const SECRET = /^\/(?:checkout|payments\/(?:done|cancelled))\//;

function pathOf({ path }: Exchange): string {
  const secret = SECRET.exec(path)?.[0];
  return secret === undefined ? path.slice(0, 1_024) : `${secret}…`;
}
