/** What the service's own auditor of the ledger finds, in a pass that began after the call. */
import { listAt, numberAt, textAt, valueAt } from '../e2e/client.js';
import type { Running } from '../e2e/running.js';
import { until } from '../e2e/until.js';

const PATIENCE_MS = 120_000;

export async function findingsOf(service: Running): Promise<readonly unknown[]> {
  const client = service.client();
  const timeOf = (view: unknown): string => textAt(view, 'lastPass', 'startTime');
  const before = await until('the ledger is there', async () => {
    const { status, body } = await client.get('/ops/v1/ledger');
    return status === 200 && { time: timeOf(body) };
  });
  const look = async (): Promise<unknown> => {
    const view = (await client.get('/ops/v1/ledger')).body;
    if (timeOf(view) !== before.time) return valueAt(view, 'running') === false && view;
    await client.post('/ops/v1/ledger/audits', {});
    return false;
  };
  const after = await until('a pass has ended', look, PATIENCE_MS);
  return [...listAt(after, 'findings'), ...(numberAt(after, 'lastPass', 'unread') > 0 ? ['an org was not read'] : [])];
}
