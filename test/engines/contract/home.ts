/** Where the home directory of work lies. */
import { copyFileSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { ContractCase } from './case.js';
import { order } from '../compute-harness.js';

const HOME = '/home/svc';

export const homeCases: readonly ContractCase[] = [
  {
    name: 'a home that work names is there, empty and its own; saved and given to other work, it is as it was',
    run: async (t, h, around) => {
      const home = { home: HOME, workingDir: HOME, outputs: [{ name: 'home', path: HOME }] };
      const first = order('pwd; ls -A; echo kept >file; chmod 640 file; ln -s file link', home);
      const state = await h.run(first);
      t.is(state.exitCode, 0, await h.text(first.id));
      t.is(await h.text(first.id), `${HOME}\n`);
      const [saved] = state.outputs ?? [];
      t.is(saved?.error, undefined);
      t.true(saved?.directory);
      const at = mkdtempSync(join(around.files, 'home-'));
      const source = join(at, 'saved');
      copyFileSync(saved?.file ?? '', source);
      around.share(at);
      const input = { path: HOME, source, unpack: 'tar.zst', writable: true } as const;
      const second = order('cat link; stat -c %a file; echo more >>file; cat file', { ...home, inputs: [input] });
      t.is((await h.run(second)).exitCode, 0, await h.text(second.id));
      t.is(await h.text(second.id), 'kept\n640\nkept\nmore\n');
    },
  },
];
