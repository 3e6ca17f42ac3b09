/** Owns the text that names a model on the hub at one commit. Source: spec, "Environment", examples. */
import { z } from 'zod';

export const hubModel = z
  .string()
  .max(512)
  .regex(
    /^hf:\/\/[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?@[0-9a-f]{40}$/,
    'must be hf://<repo>@<40 hexadecimal digits>',
  );
