/** Owns the list of routes that stand beside the kinds (blobs, events) and below their objects (logs, outputs). */
import type { Extras } from './handle.js';
import { serveBlobs } from './routes/blobs.js';
import { serveEvents } from './routes/events.js';
import { serveLogs } from './routes/logs.js';
import { serveOutputs } from './routes/outputs.js';
import type { Room } from './room.js';

export function openExtras(room: Room): Extras {
  return {
    beside: new Map([
      ['v1/blobs', (x, caller, target) => serveBlobs(x, room, caller, target)],
      ['v1/events', (x, caller, target) => serveEvents(x, room, caller, target)],
      ['core/events', (x, caller, target) => serveEvents(x, room, caller, target)],
    ]),
    below: new Map([
      ['jobs/logs', (x, caller, target) => serveLogs(x, room, caller, target)],
      ['attempts/logs', (x, caller, target) => serveLogs(x, room, caller, target)],
      ['jobs/outputs', (x, caller, target) => serveOutputs(x, room, caller, target)],
    ]),
  };
}
