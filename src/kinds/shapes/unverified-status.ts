/** Owns the status at birth of what is made of an image that has to be looked at first. Pure. */
import type { ApiObject } from '../../api/object.js';

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
