/** Commands on a terminal of their own. */
import type { ContractCase } from './case.js';
import { box, printed, taken } from '../compute-harness.js';

export const terminalCases: readonly ContractCase[] = [
  {
    name: 'terminal: it echoes, has the size that it was given and is given later, and ends with the exit code of its command',
    run: async (t, h) => {
      const work = await h.running(box());
      const script = `until [ "$(stty size)" = "24 80" ]; do sleep 0.02; done; test -t 0 && test -t 2 && echo at $(tty)
        read word; echo "got $word" >&2; until [ "$(stty size)" = "31 101" ]; do sleep 0.02; done; echo resized; exit 7`;
      const terminal = await h.exec(work.id, script, { terminal: { columns: 80, rows: 24 } });
      const output = terminal.output[Symbol.asyncIterator]();
      let text = '';
      const until = async (word: string): Promise<void> => {
        while (!text.includes(word)) {
          const next = await output.next();
          if (next.done === true) throw new Error(`it ended: ${text}`);
          t.is(next.value.stream, 'stdout');
          text += Buffer.from(next.value.data).toString('latin1');
        }
      };
      await until('at /dev/pts/');
      await terminal.write(Buffer.from('hello\n'));
      await until('got hello');
      t.true(text.indexOf('hello\r\n') < text.indexOf('got hello'), text);
      terminal.resize({ columns: 101, rows: 31 });
      await until('resized');
      while ((await output.next()).done !== true);
      t.deepEqual(await terminal.ended, { end: 'Exited', exitCode: 7, timedOut: false });
      await h.engine.remove(work.id, true, h.patience());
    },
  },
  {
    name: 'terminal: keys are signals, the end of the input hangs up, and what a terminal does not read waits',
    run: async (t, h) => {
      const work = await h.running(box());
      const size = { columns: 80, rows: 24 };
      const interrupted = await h.exec(
        work.id,
        'trap "echo caught; exit 4" INT; echo ready; while :; do sleep 0.05; done',
        {
          terminal: size,
        },
      );
      const output = await printed(interrupted, 'ready');
      await interrupted.write(Buffer.from('\x03'));
      while ((await output.next()).done !== true);
      t.deepEqual(await interrupted.ended, { end: 'Exited', exitCode: 4, timedOut: false });
      const hung = await h.exec(work.id, ['cat'], { terminal: size });
      hung.endInput();
      t.is((await taken(hung)).end.end, 'Exited');
      const pasted = await h.exec(work.id, 'stty raw -echo; echo ready; sleep 0.3; head -c 300000 | wc -c', {
        terminal: size,
      });
      const rest = await printed(pasted, 'ready');
      await pasted.write(Buffer.alloc(300_000, 'x'));
      let text = '';
      for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
        text += Buffer.from(next.value.data).toString('latin1');
      }
      t.is(text.trim(), '300000');
      await h.engine.remove(work.id, true, h.patience());
    },
  },
];
