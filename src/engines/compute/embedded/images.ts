/** The names of the images that are this machine's own system; every other one must come from a registry (not yet). */
import { BRAND } from '../../../brand.js';

export const SYSTEM_IMAGES: ReadonlySet<string> = new Set([`${BRAND}/agent-tools`, `${BRAND}/workspace-cpu`]);
