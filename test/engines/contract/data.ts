/** Input and output of commands in work that runs: in the ordinary way, and as much of it for which an engine may have a quicker one. */
import { createHash, randomBytes } from 'node:crypto';
import type { ExecEnd } from '../../../src/engines/compute/contract/engine.js';
import { box, MiB, printed, taken } from '../compute-harness.js';
import type { ContractCase } from './case.js';

const exited = (exitCode: number): ExecEnd => ({ end: 'Exited', exitCode, timedOut: false });
const SUM = 'sha256sum | cut -c1-64';

const either = (bulk: boolean): readonly ContractCase[] => [
  {
    name: `exec: ${bulk ? 'bulk ' : ''}input goes in as it is written, whatever its size, and its end is seen`,
    run: async (t, h) => {
      const work = await h.running(box());
      const sum = await h.exec(work.id, SUM, { bulk });
      const hash = createHash('sha256');
      for (let index = 0; index < 40; index++) {
        const bytes = randomBytes(100_003);
        hash.update(bytes);
        await sum.write(bytes);
      }
      sum.endInput();
      t.deepEqual(await taken(sum), { stdout: `${hash.digest('hex')}\n`, stderr: '', end: exited(0) });
      // None at all; a program that does not read it, one that ended, and one that never was.
      t.is((await h.ran(work.id, 'wc -c', { bulk })).stdout, '0\n');
      const deaf = await h.exec(work.id, 'exec <&-; sleep 0.1; exit 4', { bulk });
      for (let index = 0; index < 10; index++) await deaf.write(randomBytes(64 * 1024));
      t.deepEqual((await taken(deaf)).end, exited(4));
      await deaf.write(Buffer.from('late'));
      const none = await h.exec(work.id, ['no-such-program'], { bulk });
      for (let index = 0; index < 10; index++) await none.write(randomBytes(64 * 1024));
      t.like((await taken(none)).end, { end: 'NotExecuted', reason: 'CommandNotFound' });
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: `exec: a ${bulk ? 'bulk ' : ''}stream of input reaches programs of any pace whole, and its end right behind it`,
    run: async (t, h) => {
      const work = await h.running(box());
      const bytes = randomBytes(3 * MiB + 17);
      const whole = createHash('sha256').update(bytes).digest('hex');
      const readers = [
        SUM,
        `cat | cat | ${SUM}`,
        `(head -c 70000; sleep 0.2; head -c 1; sleep 0.1; cat) | ${SUM}`,
        `while head -c 300001 | grep -qc "" && sleep 0.02; do :; done; exit 5`,
      ];
      const ends = readers.map(async (script, index) => {
        for (let turn = 0; turn < (index < 2 ? 12 : 2); turn += 1) {
          const reader = await h.exec(work.id, script, { bulk });
          for (let at = 0; at < bytes.length; at += 262_144) await reader.write(bytes.subarray(at, at + 262_144));
          reader.endInput();
          const { stdout, end } = await taken(reader);
          if (index < 3) t.deepEqual([stdout, end], [`${whole}\n`, exited(0)]);
          else t.deepEqual(end, exited(5));
        }
      });
      await Promise.all(ends);
      // Its end, and a word before it, when all that came before is read.
      for (const word of ['', 'word']) {
        const reader = await h.exec(work.id, `head -c ${bytes.length} | wc -c; cat`, { bulk });
        const output = printed(reader, `${bytes.length}\n`);
        await reader.write(bytes);
        const rest = await output;
        if (word !== '') await reader.write(Buffer.from(word));
        reader.endInput();
        let heard = '';
        for (let next = await rest.next(); next.done !== true; next = await rest.next())
          heard += Buffer.from(next.value.data).toString();
        t.deepEqual([heard, await reader.ended], [word, exited(0)]);
      }
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: `exec: ${bulk ? 'bulk ' : ''}input that its caller breaks off is never taken for all of it, and what waits for room goes on`,
    run: async (t, h) => {
      const work = await h.running(box());
      for (const [name, bytes] of Object.entries({ few: 100_003, many: 4 * MiB })) {
        const gone = new AbortController();
        const order = {
          work: work.id,
          command: [
            'sh',
            '-c',
            `head -c 1000 >/dev/null; echo begun; cat >/workspace/${name}; echo >/workspace/${name}-all`,
          ],
          env: { PATH: '/usr/bin:/bin' },
          workingDir: '/',
          bulk,
        };
        const start = await h.engine.exec(order, gone.signal);
        if (start.outcome !== 'Started') throw new Error(start.outcome);
        await start.execution.write(randomBytes(bytes));
        await printed(start.execution, 'begun');
        gone.abort();
        await start.execution.write(randomBytes(bytes));
        t.deepEqual(await start.execution.ended, { end: 'WorkGone' });
      }
      // A reader that has stopped, until its time is over.
      const stuck = await h.exec(work.id, 'exec sleep 600', { bulk, timeoutSeconds: 2 });
      for (let index = 0; index < 80; index++) await stuck.write(randomBytes(64 * 1024));
      t.deepEqual((await taken(stuck)).end, { end: 'Exited', exitCode: 137, timedOut: true });
      t.is((await h.ran(work.id, 'ls /workspace | grep all')).stdout, '');
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: `exec: ${bulk ? 'bulk ' : ''}output comes whole to readers of any pace, then its end; what is complained of comes beside it`,
    run: async (t, h) => {
      const work = await h.running(box());
      const size = 5 * MiB + 17;
      t.deepEqual((await h.ran(work.id, `head -c ${size} /dev/urandom >file; exit 3`)).end, exited(3));
      const whole = (await h.ran(work.id, `<file ${SUM}`)).stdout.trim();
      const script = 'echo "$0" >&2; cat file; echo last >&2; exit 5';
      const reads = [0, 0, 20, 200].map(async (pauseEvery) => {
        const reader = await h.exec(work.id, script, { bulk });
        const hash = createHash('sha256');
        let [bytes, pieces, complaint] = [0, 0, ''];
        for await (const { stream, data } of reader.output) {
          if (stream === 'stderr') complaint += Buffer.from(data).toString();
          else {
            hash.update(data);
            bytes += data.length;
          }
          pieces += 1;
          if (pauseEvery > 0 && pieces % pauseEvery === 0) await new Promise((resume) => setTimeout(resume, 5));
        }
        t.deepEqual([bytes, hash.digest('hex'), complaint], [size, whole, 'sh\nlast\n']);
        t.deepEqual(await reader.ended, exited(5));
      });
      await Promise.all(reads);
      // What was left behind holds the output for longer than anybody listens.
      const left = await h.ran(work.id, 'echo said; (sleep 0.3; echo late) & exit 6', { bulk });
      t.deepEqual(left, { stdout: 'said\n', stderr: '', end: exited(6) });
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: `exec: a reader of ${bulk ? 'bulk ' : ''}output that is slow pauses the program, and one that has stopped keeps nothing from ending`,
    run: async (t, h) => {
      const work = await h.running(box());
      const size = 24 * MiB;
      const flood = await h.exec(work.id, `head -c ${size} /dev/zero | (cat; echo done >/workspace/done)`, { bulk });
      const output = await printed(flood, '\0');
      // It cannot get ahead by more than what lies in pipes and buffers.
      t.is((await h.ran(work.id, 'sleep 0.5; cat /workspace/done')).stdout, '');
      let bytes = 0;
      for (let next = await output.next(); next.done !== true; next = await output.next()) {
        bytes += next.value.data.length;
      }
      t.true(bytes > size - MiB && bytes <= size, `${bytes} bytes`);
      t.deepEqual(await flood.ended, exited(0));
      // Its time is over, its caller gives up, and the work is removed, though nobody reads.
      const late = await h.exec(work.id, ['cat', '/dev/zero'], { bulk, timeoutSeconds: 1 });
      const reader = await printed(late, '\0');
      await h.until('its program is gone', async () => {
        const { stdout } = await h.ran(work.id, 'cat /proc/[0-9]*/comm');
        return stdout.split('\n').filter((name) => name === 'cat').length === 1 || undefined;
      });
      for (let next = await reader.next(); next.done !== true;) next = await reader.next();
      t.deepEqual(await late.ended, { end: 'Exited', exitCode: 137, timedOut: true });
      const gone = new AbortController();
      const order = { work: work.id, command: ['cat', '/dev/zero'], env: {}, workingDir: '/', bulk };
      const start = await h.engine.exec(order, gone.signal);
      if (start.outcome !== 'Started') throw new Error(start.outcome);
      await printed(start.execution, '\0');
      gone.abort();
      t.deepEqual(await start.execution.ended, { end: 'WorkGone' });
      const stuck = await h.exec(work.id, ['cat', '/dev/zero'], { bulk });
      const last = await printed(stuck, '\0');
      await h.engine.remove(work.id, true, h.patience());
      await last.return?.();
      t.deepEqual(await stuck.ended, { end: 'WorkGone' });
    },
  },
];

export const dataCases: readonly ContractCase[] = [...either(false), ...either(true)];
