/** The fields of a ServiceAccount. Source: spec, "ServiceAccount". */
import { z } from 'zod';
import { zDuration, zTimestamp } from '../../api/schema.js';
import { scopesField } from '../shapes/names.js';

export const serviceAccountSpec = z.object({
  description: z.string().max(1024).optional().describe('Description for people.'),
  scopes: scopesField
    .nullable()
    .optional()
    .describe(
      "What its tokens and bound keys may do, cut to what its creator may do. Empty: only an attempt's own calls.",
    ),
});

export const serviceAccountStatus = z.object({
  lastUsedTime: zTimestamp('When a token or key of it was last used, to the minute.').optional(),
});

/** Body of `POST …/serviceaccounts/{name}/tokens`. */
export const tokenInput = z.strictObject({
  expiresIn: zDuration({ min: '1m', max: '8760h', description: 'How long the token lives.' }).default('1h'),
});

export type ServiceAccountSpec = z.infer<typeof serviceAccountSpec>;
export type ServiceAccountStatus = z.infer<typeof serviceAccountStatus>;
