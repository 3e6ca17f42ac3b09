/**
 * The handlers of what stands beside the kinds (blobs, events) and below their objects. Which kinds have which subresource is
 * in their declarations (`src/kinds/<kind>/index.ts`); nothing here names a kind.
 */
import type { KindDefinition, Subresource } from '../src/kinds/kind.js';
import type { CollectionRoutes, ServeSubresource, Subresources } from './handle.js';
import { serveBlobs } from './routes/blobs.js';
import { serveCells } from './routes/cells.js';
import { serveDeliveries } from './routes/deliveries.js';
import { serveCoreEvents } from './routes/core-events.js';
import { serveEvents } from './routes/events.js';
import { serveExec } from './routes/exec.js';
import { serveFiles } from './routes/files.js';
import { serveLogs } from './routes/logs.js';
import { serveOutputs } from './routes/outputs.js';
import { servePorts } from './routes/ports.js';
import { serveProcesses } from './routes/processes.js';
import { serveStages } from './routes/stages.js';
import { serveTerminal } from './routes/terminal.js';
import { serveWallet } from './routes/wallet.js';
import { serveLinks } from './tools/links.js';

const HANDLERS: Readonly<Record<Subresource, ServeSubresource>> = {
  cells: serveCells,
  deliveries: serveDeliveries,
  exec: serveExec,
  files: serveFiles,
  logs: serveLogs,
  outputs: serveOutputs,
  ports: servePorts,
  processes: serveProcesses,
  stages: serveStages,
  terminal: serveTerminal,
  tools: serveLinks,
};

/** Where a connection may leave HTTP, and for which protocol; `*` stands for any. */
const UPGRADES: Partial<Record<Subresource, 'websocket' | '*'>> = { ports: '*', terminal: 'websocket' };

export function openSubresources(kinds: readonly KindDefinition[]): Subresources {
  return new Map(
    kinds.flatMap(({ plural, subresources = [] }) =>
      subresources.map((name) => [`${plural}/${name}`, { serve: HANDLERS[name], upgradesTo: UPGRADES[name] }] as const),
    ),
  );
}

export const COLLECTION_ROUTES: CollectionRoutes = new Map([
  ['v1/blobs', serveBlobs] as const,
  ['v1/events', serveEvents] as const,
  ['v1/wallet', serveWallet] as const,
  ['core/events', serveCoreEvents] as const,
]);
