/** The fields of an EnrollmentToken. Source: decisions, "Kinds not detailed". */
import { z } from 'zod';
import { zDuration, zName, zTimestamp } from '../../api/schema.js';

export const enrollmentTokenSpec = z.object({
  pool: zName({ description: 'The Pool that a machine joins.' }).optional(),
  ttl: zDuration({ min: '1s', max: '24h', description: 'How long it may be used.' }).default('1h'),
  maxUses: z.int32().min(1).default(1).describe('Machines that it may enroll.'),
});

export const enrollmentTokenStatus = z.object({
  token: z.string().optional().describe('The token itself: in the answer to its create, once.'),
  uses: z.int32().optional().describe('Machines that it has enrolled.'),
  expirationTime: zTimestamp('From then on it is refused.').optional(),
  phase: z.enum(['Active', 'Used', 'Expired']).optional().describe('Used: it has enrolled as many machines as it may.'),
});

export type EnrollmentTokenSpec = z.infer<typeof enrollmentTokenSpec>;
export type EnrollmentTokenStatus = z.infer<typeof enrollmentTokenStatus>;
