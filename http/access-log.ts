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

const SECRET = /checkout|payments/i;

/** However the address is written: what stands behind the word may be the right to a payment. */
function pathOf({ path }: Exchange): string {
  const plain = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const found = SECRET.exec(plain);
  if (found === null || path === '/payments/stripe') return path.slice(0, 1_024);
  return `${plain.slice(0, Math.min(found.index + found[0].length, 1_024))}/…`;
}
