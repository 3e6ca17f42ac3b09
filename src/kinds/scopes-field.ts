/** Owns the check of `spec.scopes` for keys and ServiceAccounts. */
import { z } from 'zod';
import { isScope } from '../api/access/scope.js';

/** More patterns than there are plurals and verbs say nothing new. */
const MOST_SCOPES = 128;

export const scopesField = z
  .array(
    z
      .string()
      .refine(
        isScope,
        'must be `<plural>:read|write|exec`, `inference:invoke`, `billing:read|write`, `keys:write`, with `*` for either half',
      ),
  )
  .max(MOST_SCOPES);
