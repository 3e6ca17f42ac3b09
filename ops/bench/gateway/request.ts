/** One request on a connection of its own, within a bound. */
import { openConnection } from '../client.js';

/** Rejects when the connection breaks, or when there is no answer after so long. */
export async function call(port: number, request: Buffer, mostMs: number): Promise<{ status: number; body: Buffer }> {
  const connection = await openConnection(port);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((done, fail) => {
      timer = setTimeout(() => fail(new Error(`there was no answer within ${mostMs} ms`)), mostMs);
      connection.send(request, (status, body) => done({ status, body }), fail);
    });
  } finally {
    clearTimeout(timer);
    connection.close();
  }
}
