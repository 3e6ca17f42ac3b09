/** Places outside that files come from: https addresses, git repositories, models of the hub. Source: spec, "Job spec", Source; "Volume". */
import { z } from 'zod';
import { zAbsolutePath, zDigest } from '../../api/schema.js';

/** Longer addresses are refused by common servers. */
const LONGEST_URL = 8192;

/** https with a host and without credentials: those would be shown to everyone who may read the object (I11). */
export function isHttps(text: string): boolean {
  try {
    const url = new URL(text);
    return url.protocol === 'https:' && url.hostname !== '' && url.username === '' && url.password === '';
  } catch {
    return false;
  }
}

/** It would be one with another port. */
function hasBadPort(text: string): boolean {
  const parts = /^(https:\/\/[^/?#]*):\d+(?=[/?#]|$)/.exec(text);
  return parts !== null && isHttps(parts[1] ?? '');
}

/** Where the address leads is for the dialer to judge, at each connection. */
export const httpsUrl = z
  .string()
  .max(LONGEST_URL)
  .refine(isHttps, {
    error: ({ input }) =>
      typeof input === 'string' && hasBadPort(input)
        ? 'must have a port from 1 to 65535, or none'
        : 'must be an https URL without credentials',
  })
  .meta({ format: 'uri', pattern: '^https://', example: 'https://example.com/hooks' });

const OWNER_AND_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\/[A-Za-z0-9._-]{1,100}$/;

/** `owner/name` at a host that keeps git repositories or models. */
export function isOwnerAndName(text: string): boolean {
  return OWNER_AND_NAME.test(text) && !/\/\.{1,2}$/.test(text);
}

export const gitRepository = z
  .string()
  .max(LONGEST_URL)
  .refine(
    (text) => isOwnerAndName(text) || isHttps(text),
    'must be owner/name or an https URL without credentials, for example octocat/hello-world',
  )
  .meta({ example: 'octocat/hello-world' });

/** A branch, tag or commit; never an option of git. */
export const gitRef = z
  .string()
  .max(255)
  .regex(/^[^-\s~^:?*[\\][^\s~^:?*[\\]*$/, 'must be a branch, a tag or a commit, for example main')
  .meta({ example: 'main' });

/** The program text that is unpacked before work starts. */
export const source = z
  .object({
    git: z
      .object({
        repo: gitRepository.describe('owner/name or an https URL without credentials.'),
        ref: gitRef.optional().describe('Branch, tag or commit; the default branch when unset.'),
        path: zAbsolutePath().optional().describe('Directory that receives the files; workingDir when unset.'),
      })
      .optional()
      .describe('A git repository.'),
    blob: zDigest().optional().describe('A stored archive (tar, tar.gz or tar.zst), unpacked into workingDir.'),
  })
  .refine((given) => (given.git === undefined) !== (given.blob === undefined), {
    message: 'exactly one of git and blob must be given',
  });

export type Source = z.infer<typeof source>;

/** A model on the hub at one commit. */
export const hubModel = z
  .string()
  .max(512)
  .regex(
    /^hf:\/\/[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?@[0-9a-f]{40}$/,
    'must be hf://<repo>@<40 hexadecimal digits>',
  );
