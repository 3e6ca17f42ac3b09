/**
 * The pinning of an object's work to one image: what the name stood for when the first of it was started is noted in the status,
 * and everything that starts later runs that, whatever the name stands for by then. Source: spec, "Sandbox" (`image`).
 */
import type { WorkPlan } from '../work.js';
import { namesDigest, pinned } from './catalog.js';

interface ImageStatus {
  reference?: string | undefined;
  digest?: string | undefined;
}

/** The part of a plan that says what to run. An image that is named by its digest needs no note. */
export function plannedImage(
  reference: string,
  status: ImageStatus | undefined,
): Pick<WorkPlan, 'image' | 'imageDigest' | 'notesImage'> {
  const imageDigest = noted(reference, status);
  return { image: reference, imageDigest, notesImage: imageDigest === undefined && !namesDigest(reference) };
}

/** The status with the digest that an engine has found; undefined: one was noted before, and holds. */
export function pinImage<Status extends ImageStatus>(
  reference: string,
  status: Status | undefined,
  digest: string,
): (Status & ImageStatus) | (ImageStatus & { reference: string }) | undefined {
  if (noted(reference, status) !== undefined || status?.digest === digest) return undefined;
  return { ...(status ?? { reference }), digest };
}

/** What a name says by itself is no note: on an engine that has images of its own, one of the catalog stands for one of these. */
function noted(reference: string, status: ImageStatus | undefined): string | undefined {
  return status?.digest === pinned(reference).digest ? undefined : status?.digest;
}
