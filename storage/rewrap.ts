/**
 * Finishes a rotation of the master key: secret versions that an earlier key has wrapped are wrapped by the current one, so
 * that the earlier key is no longer needed. Values are not touched and not opened (I11).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MasterKeys } from './envelope/master-key.js';
import { rewrapValues } from './envelope/values.js';
import type { Postgres, Statement } from './postgres.js';

/** A version may be 1 MiB of values: so few at once. */
const PAGE = 20;
/** Between two tries while Postgres is away (ms). */
const AGAIN_MS = 1_000;

export interface Rewrapped {
  readonly rewrapped: number;
  /** Wrapped by a key that is not at hand, or damaged: left as they are. */
  readonly unreadable: number;
}

/** Whole store. Resolves when all has been looked at or the signal ends it; may run again, and beside another run. */
export async function rewrapSecrets(postgres: Postgres, keys: MasterKeys, signal: AbortSignal): Promise<Rewrapped> {
  let rewrapped = 0;
  let unreadable = 0;
  let after: readonly [uid: string, version: number] = ['', 0];
  while (!signal.aborted) {
    try {
      const rows = await postgres.readRows<Row>(WRAPPED_BEFORE, [keys.current.idBytes, ...after, PAGE]);
      for (const row of rows) {
        const sealed = again(keys, row);
        if (sealed === undefined) unreadable += 1;
        else rewrapped += await postgres.write(REWRAP, [...row, sealed]);
        after = [row[1], row[2]];
      }
      if (rows.length < PAGE) break;
    } catch {
      await sleep(AGAIN_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }
  return { rewrapped, unreadable };
}

type Row = [org: string, uid: string, version: number, sealed: Buffer];

function again(keys: MasterKeys, [org, uid, version, sealed]: Row): Buffer | undefined {
  try {
    return rewrapValues(keys, org, uid, version, sealed);
  } catch {
    return undefined;
  }
}

/** Secret versions after ($2, $3) whose master key (bytes 2 to 9, `envelope/values.ts`) is another than $1. */
const WRAPPED_BEFORE: Statement = {
  name: 'wrapped before',
  text: `
SELECT org, uid, version, sealed FROM secret_versions
WHERE (uid, version) > ($2, $3) AND substring(sealed FROM 2 FOR 8) <> $1
ORDER BY uid, version LIMIT $4`,
};

/** Precondition: the version is sealed as $4. Result: it is sealed as $5. */
const REWRAP: Statement = {
  name: 'rewrap',
  text: 'UPDATE secret_versions SET sealed = $5 WHERE org = $1 AND uid = $2 AND version = $3 AND sealed = $4',
};
