/** What the sender reads of WebhookEndpoints: all of them when a process becomes the leader, and which secrets sign. */
import { stampVersion } from '../../src/api/encode.js';
import type { Postgres, Statement } from '../postgres.js';

export interface StoredEndpoint {
  readonly org: string;
  /** Stamped bytes. */
  readonly body: Buffer;
}

export interface EndpointRows {
  /** Whole store. */
  all(): Promise<readonly StoredEndpoint[]>;
  /** Versions of the signing secret, the newest first; at most two, since no more than two sign. */
  secretVersions(org: string, uid: string): Promise<readonly number[]>;
}

export function openEndpointRows(postgres: Postgres): EndpointRows {
  return {
    async all() {
      const rows = await postgres.readRows<[string, number, string]>(ALL);
      return rows.map(([org, version, body]) => ({ org, body: stampVersion(Buffer.from(body), version) }));
    },
    async secretVersions(org, uid) {
      const rows = await postgres.readRows<[number]>(SECRET_VERSIONS, [org, uid]);
      return rows.map(([version]) => version);
    },
  };
}

/** From org to org, since objects are not indexed by their kind alone. */
const ALL: Statement = {
  name: 'webhook endpoints',
  text: `
SELECT o.org, o.version, o.body
FROM org_counts g JOIN objects o ON o.org = g.org AND o.kind = 'WebhookEndpoint'`,
};

const SECRET_VERSIONS: Statement = {
  name: 'secret versions',
  text: 'SELECT version FROM secret_versions WHERE org = $1 AND uid = $2 ORDER BY version DESC LIMIT 2',
};
