/** Owns what runs to its end before a program starts. Source: spec, "Job spec". */
import { z } from 'zod';
import { zDuration } from '../../api/schema.js';
import { commandLine } from './argument.js';

export const initCommand = z.object({
  command: commandLine.describe('Program and arguments.'),
  timeout: zDuration({ max: '30m' }).optional().describe('Time limit; 30m when unset.'),
});

export type InitCommand = z.infer<typeof initCommand>;
