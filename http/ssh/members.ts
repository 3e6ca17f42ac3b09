/** Reads the members of an org whose deletion has not begun. Anew each time: few logins need them, and orgs are small. */
import type { ResourceService } from '../../actors/resource-service.js';
import { decodeObject } from '../../src/api/encode.js';
import { memberKind } from '../../src/kinds/member/index.js';
import type { MemberSpec } from '../../src/kinds/member/schema.js';
import type { Members } from './keys.js';

const READ_MS = 5_000;

export function membersOf(resources: Pick<ResourceService, 'list'>): Members {
  return async (org) => {
    const page = await resources.list({ range: { org, kind: memberKind }, signal: AbortSignal.timeout(READ_MS) });
    const found: MemberSpec[] = [];
    for await (const bodies of page.items) {
      for (const body of bodies) {
        const { metadata, spec } = decodeObject<MemberSpec>(body);
        if (metadata.deletionTimestamp === undefined) found.push(spec);
      }
    }
    return found;
  };
}
