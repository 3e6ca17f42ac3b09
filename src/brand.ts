/**
 * The one place that spells the interface's brand word and its API group.
 * Everything that carries the word (environment variables, paths inside work, catalog names) is derived here.
 */

/** The neutral word that stands in identifiers: `SVC_INDEX`, `/svc/outputs`, `svc/agent-tools`. */
export const BRAND = 'svc';

/** API group used when `TROUPE_API_GROUP` is unset. */
export const DEFAULT_API_GROUP = `${BRAND}.dev`;

/**
 * The API group of this process: the first half of every `apiVersion`, and part of every stored object's bytes.
 * Read once, because it is a constant of a deployment (`src/config.ts` checks its form before anything else runs).
 */
export const API_GROUP = process.env['TROUPE_API_GROUP'] ?? DEFAULT_API_GROUP;

/** Project that holds the read-only catalogs; visible to every org. */
export const CATALOG_PROJECT = BRAND;

/** The org that the catalogs live in; nobody belongs to it. */
export const CATALOG_ORG = BRAND;

/** Environment variables with this prefix are set by the service only. */
export const ENV_PREFIX = `${BRAND.toUpperCase()}_`;

/** API keys start with this. */
export const KEY_PREFIX = `${BRAND}_`;

/** Directory inside work under which inputs, outputs and state live. */
export const WORK_ROOT = `/${BRAND}`;

/** Where work finds the socket of its own API, `API_SOCKET` in this directory. */
export const API_DIRECTORY = `/run/${BRAND}`;
export const API_SOCKET = 'api.sock';

/** On a request that the proxy process sends on from such a socket: the id of the work whose socket it is. Never taken from a box. */
export const WORK_HEADER = `x-${BRAND}-work`;
