/** Owns semantic versions as text. Source: semver.org 2.0.0, its suggested pattern. */
import { z } from 'zod';

const LONGEST = 128;
const SEMVER =
  /^(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/;

export function isSemVer(text: string): boolean {
  return text.length <= LONGEST && SEMVER.test(text);
}

export const semVer = z.string().max(LONGEST).regex(SEMVER, 'must be a semantic version such as 1.2.0');
