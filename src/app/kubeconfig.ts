/**
 * `<data>/kubeconfig` (0600): what kubectl needs to reach this service. Written at every start, because the
 * port and the CA may have changed.
 */
import { join } from 'node:path';
import { stringify } from 'yaml';
import { writePrivate } from './private-file.js';

export interface KubeconfigOptions {
  readonly dataDir: string;
  /** Such as `https://127.0.0.1:8443`. Over plain HTTP kubectl sends no token, so only reading /version works there. */
  readonly server: string;
  /** PEM; undefined: the certificate's CA is one that clients know. */
  readonly ca: string | undefined;
  /** API key. */
  readonly token: string;
}

const NAME = 'troupe';

/** Answers the path. */
export const writeKubeconfig = async ({ dataDir, server, ca, token }: KubeconfigOptions): Promise<string> => {
  const file = join(dataDir, 'kubeconfig');
  const trust = ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  await writePrivate(
    file,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: NAME, cluster: { server, ...trust } }],
      users: [{ name: NAME, user: { token } }],
      contexts: [{ name: NAME, context: { cluster: NAME, user: NAME, namespace: 'default' } }],
      'current-context': NAME,
    }),
  );
  return file;
};
