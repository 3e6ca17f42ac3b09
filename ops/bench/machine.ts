/** Measures what the machine does by itself, in the same minutes as the rest: these machines differ by half from hour to hour. */
import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** ms for bubblewrap around `true`, with a root like ours: what an isolate costs without a service. */
export function bareIsolate(): Promise<number> {
  const options = '--unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib';
  const more = '--symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp true';
  return new Promise((done, failed) => {
    const start = performance.now();
    const child = spawn('bwrap', `${options} ${more}`.split(' '), { stdio: 'ignore' });
    child.once('error', failed);
    child.once('exit', (code) =>
      code === 0 ? done(performance.now() - start) : failed(new Error(`bwrap ended with ${code}`)),
    );
  });
}

/** Whether the machine makes such isolates at all: it may lack the program, or refuse it user namespaces. */
export async function isolatesByItself(): Promise<boolean> {
  try {
    await bareIsolate();
    return true;
  } catch {
    return false;
  }
}

/** So many of these a second, when there are always `atOnce`. */
export async function bareIsolates(atOnce: number, seconds: number): Promise<number> {
  let made = 0;
  const began = performance.now();
  const until = began + seconds * 1_000;
  const maker = async (): Promise<void> => {
    while (performance.now() < until) {
      await bareIsolate();
      made += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, maker));
  return made / ((performance.now() - began) / 1_000);
}

/**
 * The longest (ms) that the disk on which `directory` lies took, while `during` went on, until it had one page of a database for good: what
 * each commit waits for at least. It is asked some forty times a second.
 */
export async function longestForcedWrite(directory: string, during: Promise<unknown>): Promise<number> {
  const page = Buffer.alloc(8 * 1024, 1);
  const file = await open(join(directory, 'forced-writes'), 'w', 0o600);
  let over = false;
  const end = (): void => void (over = true);
  during.then(end, end);
  let longest = 0;
  try {
    for (let at = 0; !over; at = (at + 1) % 64) {
      const start = performance.now();
      await file.write(page, 0, page.length, at * page.length);
      await file.datasync();
      longest = Math.max(longest, performance.now() - start);
      await sleep(20);
    }
    return longest;
  } finally {
    await file.close();
  }
}
