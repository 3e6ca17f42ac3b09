/** The names of the images that are this machine's own system; every other one must come from a registry (not yet). */
import { BRAND } from '../../../brand.js';

/** What programs find in their environment unless the order says otherwise, as those of other images do: shells know a default, no other program does. */
const SYSTEM_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/** The order of a process or command, with the environment of the image under its own. */
export function onSystem<T extends { readonly env: Readonly<Record<string, string>> }>(order: T): T {
  return { ...order, env: { ...SYSTEM_ENV, ...order.env } };
}

export const SYSTEM_IMAGES: ReadonlySet<string> = new Set([`${BRAND}/agent-tools`, `${BRAND}/workspace-cpu`]);
