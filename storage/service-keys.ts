/**
 * Keys by which clients recognise this deployment (the host key of SSH): made once, kept sealed with the master key,
 * the same after every restart and for every process on this database.
 */
import type { MasterKeys } from './envelope/master-key.js';
import { openValues, rewrapValues, sealValues } from './envelope/values.js';
import type { Postgres, Statement } from './postgres.js';

/** What the envelope is bound to, where a secret version has its org and number. */
const OWNER = 'service';
const VERSION = 1;
const FIELD = 'key';

/** Two processes that make it together agree. Refuses with EncryptionFailed when no master key at hand opens it. */
export async function serviceKey(
  postgres: Postgres,
  keys: MasterKeys,
  name: string,
  make: () => Buffer,
): Promise<Buffer> {
  let sealed = await read(postgres, name);
  if (sealed === undefined) {
    await postgres.write(KEEP, [name, sealValues(keys, OWNER, name, VERSION, new Map([[FIELD, make()]]))]);
    sealed = await read(postgres, name);
  }
  const value = sealed && openValues(keys, OWNER, name, VERSION, sealed).get(FIELD);
  if (sealed === undefined || value === undefined) throw new Error(`the service key ${name} was not kept`);
  // So that an earlier master key may go, as with secrets (`rewrap.ts`).
  const rewrapped = rewrapValues(keys, OWNER, name, VERSION, sealed);
  if (rewrapped !== undefined) await postgres.write(REWRAP, [name, sealed, rewrapped]);
  return value;
}

/** False: there are keys, and none of the master keys at hand opens them. */
export async function opensServiceKeys(postgres: Postgres, keys: MasterKeys): Promise<boolean> {
  for (const [name, sealed] of await postgres.readRows<[string, Buffer]>(ALL)) {
    try {
      openValues(keys, OWNER, name, VERSION, sealed);
    } catch {
      return false;
    }
  }
  return true;
}

async function read(postgres: Postgres, name: string): Promise<Buffer | undefined> {
  const [row] = await postgres.readRows<[Buffer]>(READ, [name]);
  return row?.[0];
}

const READ: Statement = { name: 'service key', text: 'SELECT sealed FROM service_keys WHERE name = $1' };

/** A handful: one for each purpose. */
const ALL: Statement = { name: 'service keys', text: 'SELECT name, sealed FROM service_keys ORDER BY name LIMIT 100' };

/** Result: there is a key of this name; the first process that asked has made it. */
const KEEP: Statement = {
  name: 'keep service key',
  text: 'INSERT INTO service_keys (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
};

/** Precondition: it is sealed as $2. Result: it is sealed as $3. */
const REWRAP: Statement = {
  name: 'rewrap service key',
  text: 'UPDATE service_keys SET sealed = $3 WHERE name = $1 AND sealed = $2',
};
