/** The list of all routes that are declared and not served yet. Pure. */
import type { KindDefinition, UnservedSubresource } from '../../../src/kinds/kind.js';
import { answer, calls, journal, messages, resolutions } from './calls.js';
import { archive, checkpoints, files, revisions } from './data.js';
import type { SubresourceRoute, DescribeSubresource } from './declared.js';
import { logs } from './logs.js';

const SUBRESOURCES: Readonly<Record<UnservedSubresource, DescribeSubresource>> = {
  ...{ answer, archive, calls, checkpoints, files, journal },
  ...{ logs, messages, resolutions, revisions },
};

/** Those below objects of the kind. */
export function declaredSubresources({ kind, unservedSubresources = [] }: KindDefinition): readonly SubresourceRoute[] {
  return unservedSubresources.flatMap((name) => SUBRESOURCES[name](kind));
}
