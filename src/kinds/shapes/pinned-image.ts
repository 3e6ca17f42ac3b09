/** Owns the text that names an image by its digest, so that it never changes. */
import { BRAND } from '../../brand.js';
import { imageName } from './image-name.js';

export const pinnedImage = imageName
  .regex(/@sha256:[0-9a-f]{64}$/, 'must be pinned by a digest: <image>@sha256:<64 hexadecimal digits>')
  .describe(`Image pinned by its digest, such as ${BRAND}/trainer-sft@sha256:….`);
