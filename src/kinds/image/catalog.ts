/** Which catalog images there are. Images that customers build are objects of the kind beside this file. */
import { sha256 } from '../../api/sha256.js';
import { BRAND } from '../../brand.js';

/** Images that the embedded engine has: this machine's own system, read-only, with nothing of its users' data. */
const CATALOG: ReadonlySet<string> = new Set([`${BRAND}/agent-tools`, `${BRAND}/workspace-cpu`]);

/** Images that the interface names, whether or not this deployment's engine has them. */
const LISTED: ReadonlySet<string> = new Set([...CATALOG, `${BRAND}/workspace-pytorch-cuda`, `${BRAND}/workspace-rocm`]);

/** Work that names no image runs on this one. */
export const DEFAULT_IMAGE = `${BRAND}/agent-tools`;

export function catalogImages(): readonly string[] {
  return [...CATALOG];
}

/** True for the full name of a catalog image: `svc/agent-tools`. */
export function isCatalogImage(name: string): boolean {
  return CATALOG.has(name);
}

/** True for the full name of an image that the interface names. */
export function isListedImage(name: string): boolean {
  return LISTED.has(name);
}

const NAMED_DIGEST = /@(sha256:[0-9a-f]{64})$/;

export function namesDigest(reference: string): boolean {
  return NAMED_DIGEST.test(reference);
}

/**
 * What an image's name stands for, as far as it says so by itself. This machine's own system has no bytes of its own that could be
 * hashed: the digest of such an image is the SHA-256 of its name, so that no other image can be taken for it. Others have one here
 * only where they are named by it; an engine that has images says the rest (`pin.ts`).
 */
export function pinned(reference: string): { readonly reference: string; readonly digest?: string } {
  const digest = CATALOG.has(reference) ? `sha256:${sha256(reference)}` : NAMED_DIGEST.exec(reference)?.[1];
  return digest === undefined ? { reference } : { reference, digest };
}

/** Status of the catalog's Image of this name: what this machine's own system is needs no build, the others wait for an engine. */
export function catalogStatus(name: string): CatalogImageStatus {
  const reference = `${BRAND}/${name}`;
  if (CATALOG.has(reference)) return { phase: 'Ready', ...pinned(reference) };
  return { phase: 'Pending', reason: 'NoCapacity', message: 'no engine of this deployment pulls this image' };
}

interface CatalogImageStatus {
  readonly phase: 'Ready' | 'Pending';
  readonly reference?: string;
  readonly digest?: string;
  readonly reason?: string;
  readonly message?: string;
}
