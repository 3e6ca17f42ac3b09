/**
 * The fields of an App: Functions that are deployed together, and when they are called by the clock.
 * Source: decisions, "Kinds not detailed" and "Phases not named by the spec".
 */
import { z } from 'zod';
import { zName } from '../../api/schema.js';
import { conditionField, statusReason } from '../shapes/status.js';
import { cronSchedule, timeZone } from '../shapes/schedule.js';
import { objectName } from '../shapes/names.js';
import { addIssue, addIssueOfRepeats, rules } from '../shapes/rules.js';

/** Each is looked for at admission. */
const MOST_FUNCTIONS = 256;
const MOST_SCHEDULES = 256;

const schedule = z.object({
  name: zName({ form: 'label' }).describe('Unique in the App.'),
  cron: cronSchedule.describe('Five fields of cron, such as "0 9 * * 1-5", or a word such as @daily.'),
  function: objectName('Function that is called; one of those of the App.'),
  timeZone: timeZone.optional().describe('Time zone of the fields; UTC when unset.'),
});

const fields = z.object({
  description: z.string().max(1024).optional().describe('Description for people.'),
  functions: z
    .array(objectName('Name of a Function in the project.'))
    .max(MOST_FUNCTIONS)
    .optional()
    .describe('Functions that are deployed together.'),
  schedules: z.array(schedule).max(MOST_SCHEDULES).optional().describe('Calls by the clock.'),
  version: z.string().min(1).max(128).optional().describe('Your name for what is deployed, such as a commit.'),
});

export const appSpec = fields.check(
  rules(({ value, issues }) => {
    const { functions, schedules } = value;
    const scheduled = schedules?.map(({ name }) => name);
    addIssueOfRepeats(issues, ['functions'], functions);
    addIssueOfRepeats(issues, ['schedules'], scheduled, ['name']);
    const own = new Set(functions);
    for (const [index, { function: name }] of (schedules ?? []).entries()) {
      if (own.has(name)) continue;
      addIssue(issues, ['schedules', index, 'function'], 'must be one of functions', 'FieldValueInvalid', name);
    }
  }),
);

export type AppSpec = z.infer<typeof fields>;

export const appStatus = z.object({
  ...statusReason,
  conditions: z.array(conditionField).optional().describe('Ready.'),
  functions: z
    .array(
      z.object({
        name: z.string().describe('Name of the Function.'),
        phase: z.string().optional().describe('Its phase.'),
      }),
    )
    .optional()
    .describe('Its Functions.'),
  phase: z.enum(['Pending', 'Ready', 'Failed']).optional().describe('Lifecycle phase.'),
  version: z.string().optional().describe('Version that is deployed.'),
});

export type AppStatus = z.infer<typeof appStatus>;
