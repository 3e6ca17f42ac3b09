/**
 * Owns the end of a start that is refused for a reason which a person can mend: the lines that say it, and an exit code.
 * Anything else is a fault of the program and shows its stack.
 */
import { EngineRefusal } from '../src/engines/compute/namespaces/refusal.js';
import { CatalogFault } from './catalog/read.js';
import { DatabaseNewerError } from '../storage/newer.js';
import { WebhookCaFault } from './webhook-ca.js';

/** As a service manager may tell it apart from a crash. */
const REFUSED = 3;

export function refusedStart(error: unknown): void {
  const refusals = [DatabaseNewerError, EngineRefusal, CatalogFault, WebhookCaFault];
  if (!(error instanceof Error) || !refusals.some((refusal) => error instanceof refusal)) throw error;
  console.error(error.message);
  // Ports and connections that are open already would keep the process alive.
  process.exit(REFUSED);
}

/** For a `catch`: what was opened before does not stay behind. */
export function closing(server: { close(): Promise<void> } | undefined): (error: unknown) => Promise<never> {
  return async (error) => {
    await server?.close();
    throw error;
  };
}
