/** The next step for a client whose command was not executed, by the reason that the engine gives. Pure. */
import type { Cause } from '../../src/api/refusal.js';
import { TOO_LONG } from '../../src/engines/compute/shared/not-found.js';

const FIXES: Readonly<Record<string, string>> = {
  CommandNotFound:
    'Name a program that the image has, by its path or by a name that PATH leads to, or use an image that has it.',
  CommandNotExecutable: 'Make the file executable (chmod +x), or run it by its interpreter.',
  WorkingDirNotFound: 'Name a working directory that exists inside, or make it first.',
};

/** The field that is to blame. */
export function causeOfCommand({ reason, message }: { readonly reason: string; readonly message: string }): Cause {
  return { field: reason === 'WorkingDirNotFound' ? 'workingDir' : 'command', reason, message };
}

export function fixOfCommand({ reason, message }: { readonly reason: string; readonly message: string }): string {
  if (message.endsWith(TOO_LONG)) return 'Send less in arguments and environment: put what is long into a file.';
  return FIXES[reason] ?? 'Send the command again; when it goes on failing, look at the status of the object.';
}
