/**
 * What a start leaves for people: the first Owner's key, a kubeconfig, and lines that say where both are.
 * The key is written once and shown nowhere (I11: the lines hold paths only).
 */
import { adminKeyFile, readAdminKey, writeAdminKey } from './admin-key.js';
import { writeKubeconfig } from './kubeconfig.js';
import type { Listening } from './listening.js';

export interface WelcomeOptions {
  readonly dataDir: string;
  readonly listening: Listening;
  /** CA of our own certificate (PEM). */
  readonly ca: string | undefined;
  /** Makes an Owner key of the bootstrap org; called when the data directory has none. */
  newOwnerKey(): Promise<string>;
}

/** Answers the lines to print. */
export async function welcome({ dataDir, listening, ca, newOwnerKey }: WelcomeOptions): Promise<string[]> {
  let token = await readAdminKey(dataDir);
  if (token === undefined) {
    token = await newOwnerKey();
    await writeAdminKey(dataDir, token);
  }
  const lines = [`listening on ${listening.http}`, `the first Owner's key is in ${adminKeyFile(dataDir)}`];
  if (listening.https === undefined) return lines;
  const file = await writeKubeconfig({ dataDir, server: listening.https, ca, token });
  return [...lines, `listening on ${listening.https}: kubectl --kubeconfig ${file} get jobs -A`];
}
