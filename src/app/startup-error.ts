/**
 * Ends a start that fails for a reason which a person can mend, with a message and an exit code. Any other error is a fault of the
 * program and shows its stack.
 */
import { EngineRefusal } from '../engines/compute/shared/refusal.js';
import { CatalogFault } from './catalog/read-catalog.js';
import { DeploymentMismatchError } from '../../storage/deployment.js';
import { MasterKeyError } from '../../storage/envelope/key-file.js';
import { isOutage } from '../../storage/errors.js';
import { MigrationUnderWayError } from '../../storage/migration-under-way-error.js';
import { DatabaseNewerError } from '../../storage/schema-newer-error.js';
import { WebhookCaFault } from './webhook-ca.js';

/** As a service manager may tell it apart from a crash. */
const REFUSED = 3;

export function refusedStart(error: unknown): void {
  const refusals = [
    DatabaseNewerError,
    MigrationUnderWayError,
    DeploymentMismatchError,
    MasterKeyError,
    EngineRefusal,
    CatalogFault,
    WebhookCaFault,
  ];
  if (!(error instanceof Error)) throw error;
  const message =
    noDoor(error) ??
    noRoom(error) ??
    noDatabase(error) ??
    (refusals.some((refusal) => error instanceof refusal) ? error.message : undefined);
  if (message === undefined) throw error;
  console.error(message);
  // Ports and connections that are open already would keep the process alive.
  process.exit(REFUSED);
}

const NO_DOOR: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there, perhaps another start of this one',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'this machine has no such address',
};

/** Undefined: it is no listener that failed. */
function noDoor(error: Error): string | undefined {
  const { syscall, code = '', address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const why = syscall === 'listen' ? NO_DOOR[code] : undefined;
  if (why === undefined) return undefined;
  return `cannot listen on ${address}:${port}: ${why}. Set HOST, PORT, TROUPE_TLS_PORT or TROUPE_SSH_PORT to what is free.`;
}

/** Undefined: it is no disk that is full. */
function noRoom(error: Error): string | undefined {
  const { code = '', path } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return undefined;
  return `the disk is full${path === undefined ? '' : ` (${path})`}. Make room, then start again.`;
}

/** Undefined: it is no connection to Postgres that failed. */
function noDatabase(error: Error): string | undefined {
  if (!isOutage(error)) return undefined;
  return `Postgres does not answer (${error.message}). Start it, or set DATABASE_URL to one that runs.`;
}
