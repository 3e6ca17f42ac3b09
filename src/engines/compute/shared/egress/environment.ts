/**
 * Where work finds its proxy, and the environment by which programs know it.
 *
 * `ALL_PROXY` names HTTP as well, though the same port speaks SOCKS5: Python's httpx, and with it many clients, refuse to begin
 * at all when it names SOCKS and an extra package is not installed.
 */
import type { WorkNetwork } from '../../contract/engine.js';

/** Inside, on the work's own loopback. */
export const PROXY_PORT = 3128;

const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
const VARIABLES: readonly (readonly [name: string, value: string])[] = [
  ['HTTP_PROXY', PROXY],
  ['HTTPS_PROXY', PROXY],
  ['ALL_PROXY', PROXY],
  ['NO_PROXY', 'localhost,127.0.0.1,::1'],
];

/** `env` with the variables that it lacks. One that is set in either letter case is left alone in both. */
export function withProxy(
  env: Readonly<Record<string, string>>,
  network: WorkNetwork | undefined,
): Readonly<Record<string, string>> {
  if (network === undefined || network.egress === 'Deny') return env;
  const added = VARIABLES.filter(([name]) => env[name] === undefined && env[name.toLowerCase()] === undefined);
  return {
    ...Object.fromEntries(
      added.flatMap(([name, value]) => [
        [name, value],
        [name.toLowerCase(), value],
      ]),
    ),
    ...env,
  };
}
