/** Owns what a status says of the image that work runs on. Source: spec, "Sandbox", "Function". */
import { z } from 'zod';

export const imageStatus = z
  .object({
    digest: z.string().optional().describe('sha256:<64 hexadecimal digits>'),
    reference: z.string().optional().describe('As it was asked for.'),
    user: z.string().optional().describe('User of its programs; root when the image names none.'),
  })
  .describe('The image that it runs.');
