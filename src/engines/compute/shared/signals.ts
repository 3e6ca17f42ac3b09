/** The signals that a client may send to what runs inside. */

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
