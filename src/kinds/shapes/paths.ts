/**
 * Owns which paths inside work a client may name: absolute and plain, and not those that the system or the service keeps
 * to itself. Source: spec, "Conventions" 16, "Output".
 */
import { z } from 'zod';
import { zAbsolutePath } from '../../api/schema.js';
import { WORK_ROOT } from '../../brand.js';

const below = (roots: readonly string[]): readonly string[] => roots.map((root) => `${root}/`);

/** Mounting over these would break the image or the isolation. */
const SYSTEM = below([
  ...['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/proc', '/run', '/sbin', '/sys', '/usr'],
  WORK_ROOT,
]);
/** Collecting these would take a kernel's live files, or a Secret's values (I11), for results. */
const UNREADABLE = below(['/dev', '/proc', '/run', '/sys']);

/** Where something of the client's may be mounted. */
export const mountPath: z.ZodType<string, string> = zAbsolutePath().refine(
  (path) => !isRoot(path) && !isBelow(path, SYSTEM),
  'must not be a system path such as /, /etc or /proc; use a path such as /data',
);

/** What may be collected as an output. */
export const collectedPath: z.ZodType<string, string> = zAbsolutePath().refine(
  (path) => !isRoot(path) && !isBelow(path, UNREADABLE),
  'must not be a system path such as /, /etc or /proc; use a path such as /data',
);

const LONGEST_PATH = 4096;

/** Below a directory that something else names: it cannot lead out of it. */
export const relativePath = z
  .string()
  .min(1)
  .max(LONGEST_PATH)
  .refine(
    (path) =>
      !path.startsWith('/') && !path.includes('\0') && path.split('/').every((part) => part !== '..' && part !== '.'),
    "must be a relative path without '.' or '..' as a part, for example data/train",
  );

function isRoot(path: string): boolean {
  return /^\/+$/.test(path);
}

/** `roots` end with a slash. */
function isBelow(path: string, roots: readonly string[]): boolean {
  const single = path.includes('//') ? path.replaceAll(/\/+/g, '/') : path;
  const plain = single.endsWith('/') ? single : `${single}/`;
  return roots.some((root) => plain.startsWith(root));
}
