/** References of images in a spec, and the status at birth of objects that are made of one. Source: spec, "Conventions" 17. */
import { z } from 'zod';
import type { ApiObject } from '../../api/object.js';
import { BRAND } from '../../brand.js';

/** `[host[:port]/]path[:tag][@digest]`, as registries take it. */
const REFERENCE =
  /^(?:(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(?::[0-9]{1,5})?\/|[A-Za-z0-9-]+:[0-9]{1,5}\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/;

const LONGEST = 1024;

/** An image to pull or to build on. */
export const imageName = z
  .string()
  .min(1)
  .max(LONGEST)
  .regex(REFERENCE, 'must be an image such as docker.io/library/python:3.12')
  .describe(`Reference of an image, such as docker.io/library/python:3.12; ${BRAND}/<name> is one of the catalog.`);

/** An image that never changes. */
export const pinnedImage = imageName
  .regex(/@sha256:[0-9a-f]{64}$/, 'must be pinned by a digest: <image>@sha256:<64 hexadecimal digits>')
  .describe(`Image pinned by its digest, such as ${BRAND}/trainer-sft@sha256:….`);

/** The status at birth of what is made of an image that has to be looked at first. */
export interface UnverifiedStatus {
  readonly conditions: {
    readonly type: string;
    readonly status: 'False';
    readonly lastTransitionTime: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly phase: 'Pending';
  readonly digest?: string;
}

/** Pending, and not verified. A pinned image already tells the digest. */
export function unverifiedStatus({ metadata }: ApiObject, pinned: string | undefined): UnverifiedStatus {
  const at = pinned?.indexOf('@') ?? -1;
  return {
    conditions: [
      {
        type: 'Verified',
        status: 'False',
        lastTransitionTime: metadata.creationTimestamp,
        reason: 'NotVerified',
        message: 'its image has not been looked at yet',
      },
    ],
    phase: 'Pending',
    ...(pinned === undefined || at < 0 ? undefined : { digest: pinned.slice(at + 1) }),
  };
}
