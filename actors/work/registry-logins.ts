/**
 * Reads a Secret of type Registry: who may pull from where. Pure. Source: spec, "Secret" (`type`); the keys are Kubernetes' for
 * such Secrets (`.dockerconfigjson`, the file that `docker login` writes) or, plainer, `username`, `password` and, when not for the
 * registry of whatever image it is given with, `registry`.
 *
 * No complaint quotes a value (I11).
 */
import { z } from 'zod';
import type { RegistryLogin } from '../../src/engines/compute/contract/engine.js';

export const DOCKER_CONFIG = '.dockerconfigjson';

const entry = z.object({
  username: z.string().optional(),
  password: z.string().optional(),
  /** Base64 of `username:password`. */
  auth: z.string().optional(),
});
const config = z.object({ auths: z.record(z.string(), entry) });

export type ReadLogins =
  | { readonly outcome: 'Logins'; readonly logins: readonly RegistryLogin[] }
  | { readonly outcome: 'Unusable'; readonly why: string };

export function readLogins(type: string | undefined, values: ReadonlyMap<string, Uint8Array>): ReadLogins {
  if (type !== 'Registry') return unusable('is not of type Registry');
  const text = (key: string): string | undefined => {
    const bytes = values.get(key);
    return bytes && Buffer.from(bytes).toString('utf8');
  };
  const file = text(DOCKER_CONFIG);
  if (file !== undefined) return ofDockerConfig(file);
  const [username, password, registry] = ['username', 'password', 'registry'].map(text);
  if (username === undefined || password === undefined) {
    return unusable(`has neither the key ${DOCKER_CONFIG} nor username and password`);
  }
  return { outcome: 'Logins', logins: [{ registry, username, password }] };
}

function ofDockerConfig(file: string): ReadLogins {
  const read = config.safeParse(parsed(file));
  if (!read.success) return unusable(`has a ${DOCKER_CONFIG} that is no configuration of Docker with auths`);
  const logins = Object.entries(read.data.auths).flatMap(([registry, { username, password, auth }]) => {
    if (username !== undefined && password !== undefined) return [{ registry, username, password }];
    const [name, ...rest] = Buffer.from(auth ?? '', 'base64')
      .toString('utf8')
      .split(':');
    return name && rest.length > 0 ? [{ registry, username: name, password: rest.join(':') }] : [];
  });
  return logins.length > 0 ? { outcome: 'Logins', logins } : unusable(`has a ${DOCKER_CONFIG} without a login`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function unusable(why: string): ReadLogins {
  return { outcome: 'Unusable', why };
}
