/** Owns which catalog images there are. Images that customers build or pull are a kind of their own, which comes later. */
import { BRAND } from '../../brand.js';

/** Images that the embedded engine has: this machine's own system, read-only, with nothing of its users' data. */
const CATALOG: ReadonlySet<string> = new Set([`${BRAND}/agent-tools`, `${BRAND}/workspace-cpu`]);

/** Work that names no image runs on this one. */
export const DEFAULT_IMAGE = `${BRAND}/agent-tools`;

export function catalogImages(): readonly string[] {
  return [...CATALOG];
}

/** True for the full name of a catalog image: `svc/agent-tools`. */
export function isCatalogImage(name: string): boolean {
  return CATALOG.has(name);
}
