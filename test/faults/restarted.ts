/**
 * The service that test files share whose tests kill and start it, or ask it so that nobody else may ask meanwhile. Those are serial, so each has
 * it for itself; other tests come after all of them. It runs no work. Its settings are those that some of these files are about.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRunning, type Running } from '../e2e/running.js';
import { shared } from '../e2e/shared.js';
import { missing } from '../engines/dialer/server.js';
import { openReceiver, type Receiver } from '../webhooks/receiver.js';

/** One byte more of a body is too much. */
export const BODY_BYTES = 2 ** 21;
/** Of blobs that the org may have. */
export const BLOB_BYTES = 2 ** 20;

const SETTINGS = {
  TROUPE_COMPUTE: 'off',
  TROUPE_BODY_BYTES: String(BODY_BYTES),
  TROUPE_QUOTA_BYTES: String(BLOB_BYTES),
  TROUPE_WATCH_HISTORY_SECONDS: '10',
} as const;

export interface Restarted {
  readonly service: Running;
  /** Takes its webhooks; undefined where there are no certificates for it. */
  readonly receiver: Receiver | undefined;
  close(): Promise<void>;
}

export const shareRestarted = shared(async (): Promise<Restarted> => {
  const ends: (() => Promise<unknown>)[] = [];
  let receiver: Receiver | undefined;
  if (missing === undefined) {
    const dir = await mkdtemp(join(tmpdir(), 'troupe-webhooks-'));
    ends.push(() => rm(dir, { recursive: true, force: true }));
    receiver = await openReceiver({ teardown: (end) => void ends.push(end) }, dir);
  }
  const hooks = receiver && { TROUPE_WEBHOOK_CA: receiver.caFile, TROUPE_WEBHOOK_ALLOW: '127.0.0.0/8' };
  const service = await startRunning(undefined, { env: { ...SETTINGS, ...hooks } });
  return {
    ...{ service, receiver },
    async close() {
      await service.close();
      for (const end of ends.toReversed()) await end();
    },
  };
});
