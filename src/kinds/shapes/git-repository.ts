/** The texts that name a git repository and a place in its history. Source: spec, "Job spec", Source; "Volume", git and hub. */
import { z } from 'zod';
import { isHttps } from './https-url.js';

const OWNER_AND_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\/[A-Za-z0-9._-]{1,100}$/;
const LONGEST = 8192;

/** `owner/name` at a host that keeps git repositories or models. */
export function isOwnerAndName(text: string): boolean {
  return OWNER_AND_NAME.test(text) && !/\/\.{1,2}$/.test(text);
}

export const gitRepository = z
  .string()
  .max(LONGEST)
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
