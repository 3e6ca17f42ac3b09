/** A proxy between a committer and Postgres that cuts the connection just where COMMIT passes. */
import { connect, createServer, type Socket } from 'node:net';

export type Cut =
  /** COMMIT reaches Postgres, its answer does not come back. */
  | 'answer'
  /** COMMIT does not reach Postgres. */
  | 'commit'
  /** As 'answer', and for a while nothing can connect. */
  | 'answer and away'
  /** As 'commit', and for a while nothing can connect. */
  | 'commit and away'
  /** As 'answer', and nothing can connect any more. */
  | 'answer and gone'
  /** COMMIT and all that follows on its connection vanishes, and neither end gets an error. */
  | 'silence'
  /** The same, and nothing can connect any more. */
  | 'silence and gone';

export interface Proxy {
  readonly url: string;
  /** Arms the next COMMIT. `awayMs`: how long nothing can connect after it, where `how` says so. */
  cut(how: Cut, awayMs?: number): void;
  cuts(): number;
  close(): void;
}

export async function openProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  let armed: Cut | undefined;
  let cuts = 0;
  let away = false;
  let awayFor = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (away) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    let lost = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        // Let Postgres go on with what it has been sent.
        if (!lost) upstream.destroy();
      });
    }
    client.on('data', (data) => {
      if (armed === undefined || !data.includes('COMMIT')) {
        upstream.write(data);
        return;
      }
      const how = armed;
      armed = undefined;
      cuts += 1;
      if (how.endsWith('and away') || how.endsWith('and gone')) away = true;
      if (how.endsWith('and away')) setTimeout(() => (away = false), awayFor);
      if (how === 'commit' || how === 'commit and away') {
        client.destroy();
        return;
      }
      if (how === 'silence' || how === 'silence and gone') {
        client.removeAllListeners('data').on('data', () => {});
        return;
      }
      lost = true;
      upstream.end(data);
      client.destroy();
    });
    upstream.on('data', (data) => client.write(data));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  const at = server.address();
  if (at === null || typeof at === 'string') throw new Error('no port');
  url.port = String(at.port);
  return {
    url: url.href,
    cut(how, awayMs = 700) {
      armed = how;
      awayFor = awayMs;
    },
    cuts: () => cuts,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
