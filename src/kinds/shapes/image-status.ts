/** Owns what a status says of the image that work runs on. Source: spec, "Sandbox", "Function". */
import { z } from 'zod';

export const imageStatus = z
  .object({
    digest: z.string().optional().describe('sha256:<64 hexadecimal digits>'),
    reference: z.string().optional().describe('Reference as written in the spec.'),
    user: z.string().optional().describe('User that programs run as; root when the image names none.'),
  })
  .describe('Image that is running.');
