/** Owns reading the members of an org. Anew each time: few logins need them, and orgs are small. */
import type { Stage } from '../../actors/stage.js';
import { decodeObject } from '../../src/api/encode.js';
import { memberKind } from '../../src/kinds/member/index.js';
import type { MemberSpec } from '../../src/kinds/member/schema.js';
import type { Members } from './keys.js';

const READ_MS = 5_000;

export function membersOf(stage: Pick<Stage, 'list'>): Members {
  return async (org) => {
    const page = await stage.list({ range: { org, kind: memberKind }, signal: AbortSignal.timeout(READ_MS) });
    const found: MemberSpec[] = [];
    for await (const bodies of page.items) found.push(...bodies.map((body) => decodeObject<MemberSpec>(body).spec));
    return found;
  };
}
