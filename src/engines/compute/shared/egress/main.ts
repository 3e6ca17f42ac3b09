/**
 * The proxy process: the only process that talks to programs inside boxes on their behalf, one for each runner (and one for the service,
 * where its work runs in containers). It has a memory limit of its own, gives way to others for the processor, and holds nothing that
 * lasts: when it dies, connections break, boxes go on, and its starter starts it again with the same listening sockets.
 *
 * It ends when its starter does.
 */
import type { Server } from 'node:net';
import { createServer } from 'node:net';
import { ignoreOutputErrors } from '../../../../output-errors.js';
import { openResolver } from '../../../dialer/resolve.js';
import { allowAddresses } from '../../../dialer/special-addresses.js';
import { openRelays } from './attempt-relay.js';
import { LineBuffer } from './line-buffer.js';
import { openEgress, type Egress } from './open.js';
import type { FromProxy, ToProxy } from './proxy-messages.js';

interface Box {
  readonly server: Server;
  readonly egress: Egress;
  readonly lines: LineBuffer;
}

ignoreOutputErrors();
const boxes = new Map<number, Box>();
const lookup = openResolver();
const relays = openRelays();

/** Resolves when the message was handed over. */
function say(message: FromProxy): Promise<void> {
  return new Promise((done) => {
    if (process.send === undefined || !process.connected) return done();
    process.send(message, undefined, undefined, () => done());
  });
}

function open(box: number, { network, allow }: ToProxy & { op: 'open' }, listening: unknown): void {
  const lines = new LineBuffer((taken) => say({ op: 'lines', box, lines: taken }));
  const egress = openEgress({
    ...{ box: `${box}`, network, lookup, allowed: allowAddresses(allow) },
    log: (line) => lines.add(line),
  });
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => egress.serve(socket));
  // Too many open files: the connection is refused, and nothing else.
  server.on('error', () => undefined);
  server.listen(listening);
  boxes.set(box, { server, egress, lines });
}

async function close(box: number): Promise<void> {
  const found = boxes.get(box);
  boxes.delete(box);
  if (found !== undefined) {
    found.server.close();
    await found.egress.close();
    await found.lines.empty();
  }
  await say({ op: 'closed', box });
}

process.on('message', (message: ToProxy, listening) => {
  switch (message.op) {
    case 'open':
      return open(message.box, message, listening);
    case 'close':
      return void close(message.box);
    case 'relay':
      return void relays
        .open(message.directory, message)
        .then(() => say({ op: 'relayed', directory: message.directory }));
    case 'unrelay':
      return relays.close(message.directory);
  }
});
process.on('disconnect', () => process.exit(0));
