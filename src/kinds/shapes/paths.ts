/**
 * Owns which paths inside work a client may name: absolute and plain, and not those that the system or the service keeps
 * to itself. Source: spec, "Conventions" 16, "Output".
 */
import type { z } from 'zod';
import { zAbsolutePath } from '../../api/schema.js';
import { WORK_ROOT } from '../../brand.js';

/** Mounting over these would break the image or the isolation. */
const SYSTEM = ['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/proc', '/run', '/sbin', '/sys', '/usr'];
/** Collecting these would take a kernel's live files, or a Secret's values (I11), for results. */
const UNREADABLE = ['/dev', '/proc', '/run', '/sys'];

/** Where something of the client's may be mounted. */
export const mountPath: z.ZodType<string, string> = zAbsolutePath().refine(
  (path) => !isRoot(path) && !isBelow(path, [...SYSTEM, WORK_ROOT]),
  'is a system path',
);

/** What may be collected as an output. */
export const collectedPath: z.ZodType<string, string> = zAbsolutePath().refine(
  (path) => !isRoot(path) && !isBelow(path, UNREADABLE),
  'is a system path',
);

function isRoot(path: string): boolean {
  return /^\/+$/.test(path);
}

function isBelow(path: string, roots: readonly string[]): boolean {
  const plain = `${path.replaceAll(/\/+/g, '/').replace(/\/$/, '')}/`;
  return roots.some((root) => plain.startsWith(`${root}/`));
}
