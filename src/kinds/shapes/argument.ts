/** Owns command lines as lists of words. */
import { z } from 'zod';
import { hasNoNul } from './env-var.js';
import { MOST_ARGUMENTS } from './sizes.js';

/** One word of a command line. */
export const argument = z.string().refine(hasNoNul, 'must not contain a NUL character');

/** What follows the words of a command. */
export const argumentList = z
  .array(argument, 'must be a list of strings, for example ["--port", "8080"]')
  .max(MOST_ARGUMENTS);

/** A whole command line: its first word is the program. */
export const commandLine = z
  .array(argument, 'must be a list of strings, for example ["sh", "-c", "echo hello"]')
  .min(1, 'must name a program, for example ["sh", "-c", "echo hello"]')
  .max(MOST_ARGUMENTS)
  .refine((words) => words[0] !== '', { path: [0], message: 'must be the name or path of a program' });
