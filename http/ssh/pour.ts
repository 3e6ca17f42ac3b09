/**
 * Owns writing to a channel without filling the memory: the next piece waits until the client has opened its window for
 * this one, and until the socket has sent what it holds. (The library writes to the socket whatever the window allows, and a client may
 * open it as far as it likes.)
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';

/** Resolves when there is room for more; false when nobody takes it any more. `gone` ends the wait. */
export async function writeWithinWindow(
  to: Writable,
  data: Uint8Array,
  socket: Socket,
  gone: AbortSignal,
): Promise<boolean> {
  if (gone.aborted || !to.writable) return false;
  let stop: (() => void) | undefined;
  await new Promise<void>((resolve) => {
    stop = () => resolve();
    gone.addEventListener('abort', stop, { once: true });
    to.write(data, stop);
  });
  if (stop) gone.removeEventListener('abort', stop);
  if (socket.writableNeedDrain && !gone.aborted) {
    await once(socket, 'drain', { signal: gone }).catch(() => undefined);
  }
  return !gone.aborted && to.writable;
}
