/** Owns the list of routes that stand beside the kinds (blobs, events) and below their objects (logs, outputs, deliveries). */
import { noSuchPath, type Beside, type Extras } from './handle.js';
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
import type { Room } from './room.js';
import { serveLinks } from './tools/links.js';

const notServed: Beside = async (x, caller, target) => {
  refuseBeside(x, caller, target);
  throw noSuchPath(x);
};

export function openExtras(room: Room): Extras {
  return {
    beside: new Map([
      ...[...BESIDE].map((name) => [`v1/${name}`, notServed] as const),
      ['v1/blobs', (x, caller, target) => serveBlobs(x, room, caller, target)],
      ['v1/events', (x, caller, target) => serveEvents(x, room, caller, target)],
      ['core/events', (x, caller, target) => serveEvents(x, room, caller, target)],
    ]),
    below: new Map([
      ['jobs/logs', (x, caller, target) => serveLogs(x, room, caller, target)],
      ['attempts/logs', (x, caller, target) => serveLogs(x, room, caller, target)],
      ['sandboxes/logs', (x, caller, target) => serveLogs(x, room, caller, target)],
      ['workspaces/logs', (x, caller, target) => serveLogs(x, room, caller, target)],
      ['jobs/outputs', (x, caller, target) => serveOutputs(x, room, caller, target)],
      ['sandboxes/exec', (x, caller, target) => serveExec(x, room, caller, target)],
      ['workspaces/exec', (x, caller, target) => serveExec(x, room, caller, target)],
      ['sandboxes/processes', (x, caller, target) => serveProcesses(x, room, caller, target)],
      ['workspaces/processes', (x, caller, target) => serveProcesses(x, room, caller, target)],
      ['sandboxes/terminal', (x, caller, target) => serveTerminal(x, room, caller, target)],
      ['workspaces/terminal', (x, caller, target) => serveTerminal(x, room, caller, target)],
      ['sandboxes/ports', (x, caller, target) => servePorts(x, room, caller, target)],
      ['sandboxes/files', (x, caller, target) => serveFiles(x, room, caller, target)],
      ['workspaces/files', (x, caller, target) => serveFiles(x, room, caller, target)],
      ['workspaces/tools', (x, caller, target) => serveLinks(x, room, caller, target)],
      ['webhookendpoints/deliveries', (x, caller, target) => serveDeliveries(x, room, caller, target)],
    ]),
    leaving: new Map([
      ['sandboxes/terminal', 'websocket'],
      ['workspaces/terminal', 'websocket'],
      ['sandboxes/ports', '*'],
    ]),
    notServed: (x, caller, target) => refuseBelow(x, room, caller, target),
  };
}
