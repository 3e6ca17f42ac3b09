/**
 * Checks that no value of a Secret that work gets is written out beside it: a reader of the object would read the Secret with it
 * (code SecretValueInEnv). The values are compared where they are sealed; here it is only known which text holds one.
 *
 * I10: texts of more than MOST_BYTES are not compared but refused: the kernel would not start such a program anyway.
 */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { ApiObject } from '../../src/api/object.js';
import type { Cause } from '../../src/api/refusal.js';
import type { KindDefinition } from '../../src/kinds/kind.js';
import type { SecretStatus } from '../../src/kinds/secret/schema.js';
import type { SecretVersions } from '../../storage/store.js';

const MOST_BYTES = 1024 * 1024;

export interface PlaintextSecretsDeps {
  readonly read: (address: Address) => Promise<Buffer | undefined>;
  readonly secrets: Pick<SecretVersions, 'recognise'>;
}

export async function checkPlaintextSecrets(
  kind: KindDefinition,
  { org, project }: Address,
  object: ApiObject,
  { read, secrets }: PlaintextSecretsDeps,
): Promise<readonly Cause[]> {
  const seen = kind.plaintextSecretCheck?.(object);
  if (seen === undefined || seen.texts.length === 0 || seen.secrets.length === 0) return [];
  const texts = seen.texts.map(({ text }) => text);
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MOST_BYTES) {
    const message = `the environment is larger than ${MOST_BYTES} bytes; put what is large into a file`;
    return [{ field: 'spec.env', reason: 'FieldValueTooLong', message }];
  }
  const found = new Map<number, string>();
  for (const { name, version } of seen.secrets) {
    const body = await read({ org, kind: 'Secret', project, name });
    if (!body) continue; // a missing one is a cause of its own
    const secret = decodeObject<unknown, SecretStatus>(body);
    const wanted = version ?? secret.status.version ?? 1;
    const positions = await secrets.recognise(org, secret.metadata.uid, wanted, texts);
    for (const position of positions) found.set(position, name);
  }
  return [...found].map(([position, name]) => ({
    field: seen.texts[position]?.field ?? 'spec.env',
    reason: 'SecretValueInEnv',
    message: `holds a value of Secret "${name}", which this work mounts; refer to it with valueFrom.secretKeyRef`,
  }));
}
