/** Owns which signals may be sent to what runs inside, by whatever way. */

export const COMMAND_SIGNALS = [
  'SIGINT',
  'SIGTERM',
  'SIGKILL',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGSTOP',
  'SIGCONT',
] as const;

export type CommandSignal = (typeof COMMAND_SIGNALS)[number];

const NAMES: ReadonlySet<string> = new Set(COMMAND_SIGNALS);

export function isCommandSignal(name: string): name is CommandSignal {
  return NAMES.has(name);
}
