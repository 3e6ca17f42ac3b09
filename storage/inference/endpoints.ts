/** Reads which InferenceEndpoints there are, for the process that becomes the leader: it tells each of its Model and its use. Whole store. */
import type { Address } from '../../src/api/address.js';
import { decodeObject } from '../../src/api/encode.js';
import type { InferenceEndpointSpec } from '../../src/kinds/inferenceendpoint/schema.js';
import type { Postgres, Statement } from '../postgres.js';

export interface StoredEndpoint {
  readonly address: Address;
  readonly uid: string;
  /** `spec.model`. */
  readonly model: string;
}

/** At most `limit` behind `after`, in order. Rejects with a `RefusalError` Unavailable. */
export async function readEndpoints(
  postgres: Pick<Postgres, 'readRows'>,
  after: Address | undefined,
  limit: number,
): Promise<readonly StoredEndpoint[]> {
  const { org = '', project = '', name = '' } = after ?? {};
  const rows = await postgres.readRows<[string, string, string, string, string]>(ENDPOINTS, [
    org,
    project,
    name,
    limit,
  ]);
  // A body has a blank in it, and is no JSON to Postgres.
  return rows.map(([of, at, called, uid, body]) => ({
    ...{ uid, model: decodeObject<InferenceEndpointSpec>(Buffer.from(body)).spec.model },
    address: { org: of, kind: 'InferenceEndpoint', project: at, name: called },
  }));
}

/** Org by org, each by its index. */
const ENDPOINTS: Statement = {
  name: 'inference endpoints',
  text: `
SELECT o.org, e.project, e.name, e.uid, e.body
FROM orgs o CROSS JOIN LATERAL (
  SELECT project, name, uid, body FROM objects
  WHERE org = o.org AND kind = 'InferenceEndpoint' AND (o.org > $1 OR (project, name) > ($2, $3))
  ORDER BY project, name LIMIT $4
) e
WHERE o.org >= $1
ORDER BY o.org, e.project, e.name LIMIT $4`,
};
