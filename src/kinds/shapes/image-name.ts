/** Owns the text that names an image to pull or to build on. Source: spec, "Conventions" 17. */
import { z } from 'zod';
import { BRAND } from '../../brand.js';

/** `[host[:port]/]path[:tag][@digest]`, as registries take it. */
const REFERENCE =
  /^(?:(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(?::[0-9]{1,5})?\/|[A-Za-z0-9-]+:[0-9]{1,5}\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/;

const LONGEST = 1024;

export const imageName = z
  .string()
  .min(1)
  .max(LONGEST)
  .regex(REFERENCE, 'must be an image such as docker.io/library/python:3.12')
  .describe(`Reference of an image, such as docker.io/library/python:3.12; ${BRAND}/<name> is one of the catalog.`);
