/** The fields of an APIKey. Source: decisions on keys (the spec does not show them). */
import { z } from 'zod';
import { zName, zTimestamp } from '../../api/schema.js';
import { projectNameField, projectsField, scopesField } from '../shapes/names.js';

export const apiKeySpec = z
  .object({
    scopes: scopesField
      .nullable()
      .optional()
      .describe('What the key may do, cut to what its maker may do. None named: what its maker may do.'),
    projects: projectsField.describe('Projects that the key is held to. None named: those of its maker.'),
    member: zName().optional().describe('The Member whose role bounds the key; default: its maker.'),
    serviceAccount: z
      .object({ project: projectNameField, name: zName() })
      .optional()
      .describe('The ServiceAccount whose scopes bound the key, in place of a member.'),
    expirationTime: zTimestamp().optional().describe('From then on the key is refused; unset: it does not expire.'),
  })
  .refine((spec) => spec.member === undefined || spec.serviceAccount === undefined, {
    path: ['serviceAccount'],
    message: 'a key acts as a member or as a ServiceAccount, not both',
  });

export const apiKeyStatus = z.object({
  key: z.string().optional().describe('The key itself: in the answer to its create, once.'),
  prefix: z.string().optional().describe('The first characters of the key, to recognise it by.'),
  createdBy: z.string().optional().describe('Who made it.'),
  boundTo: z
    .array(z.string())
    .readonly()
    .optional()
    .describe('Members who made it for another one: it may do what they may as well, and ends with them.'),
  lastUsedTime: zTimestamp().optional(),
  phase: z.enum(['Active', 'Expired']).optional().describe('Expired: it is refused.'),
});

export type APIKeySpec = z.infer<typeof apiKeySpec>;
export type APIKeyStatus = z.infer<typeof apiKeyStatus>;
