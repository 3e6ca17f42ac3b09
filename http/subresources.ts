/** Owns the list of routes that stand beside the kinds (blobs, events) and below their objects (logs, outputs, deliveries). */
import { noSuchPath, type ServeCollectionRoute, type Subresources } from './handle.js';
import { serveBlobs } from './routes/blobs.js';
import { serveDeliveries } from './routes/deliveries.js';
import { serveEvents } from './routes/events.js';
import { serveExec } from './routes/exec.js';
import { serveFiles } from './routes/files.js';
import { serveLogs } from './routes/logs.js';
import { serveOutputs } from './routes/outputs.js';
import { servePorts } from './routes/ports.js';
import { serveProcesses } from './routes/processes.js';
import { serveTerminal } from './routes/terminal.js';
import { BESIDE, refuseBelow, refuseBeside } from './routes/unbuilt.js';
import type { ServerContext } from './server-context.js';
import { serveLinks } from './tools/links.js';

const notServed: ServeCollectionRoute = async (x, caller, target) => {
  refuseBeside(x, caller, target);
  throw noSuchPath(x);
};

export function openSubresources(context: ServerContext): Subresources {
  return {
    collectionRoutes: new Map([
      ...[...BESIDE].map((name) => [`v1/${name}`, notServed] as const),
      ['v1/blobs', (x, caller, target) => serveBlobs(x, context, caller, target)],
      ['v1/events', (x, caller, target) => serveEvents(x, context, caller, target)],
      ['core/events', (x, caller, target) => serveEvents(x, context, caller, target)],
    ]),
    subresources: new Map([
      ['jobs/logs', (x, caller, target) => serveLogs(x, context, caller, target)],
      ['attempts/logs', (x, caller, target) => serveLogs(x, context, caller, target)],
      ['sandboxes/logs', (x, caller, target) => serveLogs(x, context, caller, target)],
      ['workspaces/logs', (x, caller, target) => serveLogs(x, context, caller, target)],
      ['jobs/outputs', (x, caller, target) => serveOutputs(x, context, caller, target)],
      ['sandboxes/exec', (x, caller, target) => serveExec(x, context, caller, target)],
      ['workspaces/exec', (x, caller, target) => serveExec(x, context, caller, target)],
      ['sandboxes/processes', (x, caller, target) => serveProcesses(x, context, caller, target)],
      ['workspaces/processes', (x, caller, target) => serveProcesses(x, context, caller, target)],
      ['sandboxes/terminal', (x, caller, target) => serveTerminal(x, context, caller, target)],
      ['workspaces/terminal', (x, caller, target) => serveTerminal(x, context, caller, target)],
      ['sandboxes/ports', (x, caller, target) => servePorts(x, context, caller, target)],
      ['sandboxes/files', (x, caller, target) => serveFiles(x, context, caller, target)],
      ['workspaces/files', (x, caller, target) => serveFiles(x, context, caller, target)],
      ['workspaces/tools', (x, caller, target) => serveLinks(x, context, caller, target)],
      ['webhookendpoints/deliveries', (x, caller, target) => serveDeliveries(x, context, caller, target)],
    ]),
    upgradable: new Map([
      ['sandboxes/terminal', 'websocket'],
      ['workspaces/terminal', 'websocket'],
      ['sandboxes/ports', '*'],
    ]),
    notServed: (x, caller, target) => refuseBelow(x, context, caller, target),
  };
}
