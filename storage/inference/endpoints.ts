/** Reads which InferenceEndpoints there are, for the process that becomes the leader: it tells each of its Model and its use. Whole store. */
import type { Address } from '../../src/api/address.js';
import { decodeObject, stampVersion } from '../../src/api/encode.js';
import type { InferenceEndpointSpec, InferenceEndpointStatus } from '../../src/kinds/inferenceendpoint/schema.js';
import type { Postgres, Statement } from '../postgres.js';

export interface StoredEndpoint {
  readonly address: Address;
  readonly uid: string;
  /** `spec.model`. */
  readonly model: string;
  /** `status.reason` says why it is not ready, if so. */
  readonly reason: string | undefined;
}

type Row = [org: string, project: string, name: string, uid: string, version: number, body: string];

/** At most `limit` behind `after`, in order. Rejects with a `RefusalError` Unavailable. */
export async function readEndpoints(
  postgres: Pick<Postgres, 'readRows'>,
  after: Address | undefined,
  limit: number,
): Promise<readonly StoredEndpoint[]> {
  const behind = [after?.org ?? '', after?.project ?? '', after?.name ?? ''];
  const rows = await postgres.readRows<Row>(ENDPOINTS, [...behind, limit]);
  return rows.map(([org, project, name, uid, version, body]) => {
    // What is stored has a blank in place of the version, and is no JSON before it has one.
    const { spec, status } = decodeObject<InferenceEndpointSpec, InferenceEndpointStatus>(
      stampVersion(Buffer.from(body), version),
    );
    return {
      uid,
      model: spec.model,
      reason: status.reason,
      address: { org, kind: 'InferenceEndpoint', project, name },
    };
  });
}

/** Org by org, each by its index. */
const ENDPOINTS: Statement = {
  name: 'inference endpoints',
  text: `
SELECT o.org, e.project, e.name, e.uid, e.version, e.body
FROM orgs o CROSS JOIN LATERAL (
  SELECT project, name, uid, version, body FROM objects
  WHERE org = o.org AND kind = 'InferenceEndpoint' AND (o.org > $1 OR (project, name) > ($2, $3))
  ORDER BY project, name LIMIT $4
) e
WHERE o.org >= $1
ORDER BY o.org, e.project, e.name LIMIT $4`,
};
