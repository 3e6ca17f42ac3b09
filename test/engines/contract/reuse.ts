/** What one box leaves for the next: nothing, however quickly they follow each other and whoever made them ready. */
import { randomUUID } from 'node:crypto';
import type { WorkSpec } from '../../../src/engines/compute/contract/engine.js';
import type { ContractCase } from './case.js';
import { order } from '../compute-harness.js';

/** Wherever work may write, also what it can keep in the kernel. */
const PLACES = '/workspace /tmp /dev/shm /var/tmp /root /svc/state /svc/outputs / /run';
const ROUNDS = 8;

function box(): WorkSpec {
  const { main: _, ...rest } = order('true');
  return rest;
}

export const reuseCases: readonly ContractCase[] = [
  {
    name: 'no bytes, processes or environment of one box reach another, one after another or side by side',
    run: async (t, h) => {
      const marks: string[] = [];
      const ids: string[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id } = await h.running(box());
        ids.push(id);
        const mark = `leftover-${randomUUID()}`;
        // Everything that any earlier one has left would be found by its mark: names, contents, command lines, variables.
        const look = `find ${PLACES} -maxdepth 2 -path /proc -prune -o -path /usr -prune -o -name 'leftover-*' -print 2>/dev/null
          cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a ^leftover-
          ls /proc/sysvipc >/dev/null; cat /proc/sysvipc/shm /proc/net/unix | grep -a leftover-; hostname; id -u; umask; true`;
        const leave = `for place in ${PLACES}; do echo ${mark} >$place/${mark} 2>/dev/null; done
          umask 077; mkdir -p /workspace/${mark}.d; chmod 000 /workspace/${mark}.d
          ${mark}=1 sh -c 'sleep 600 & exec -a ${mark} sleep 600' >/dev/null 2>&1 &`;
        const { stdout } = await h.ran(id, look, { env: { PATH: '/usr/local/bin:/usr/bin:/bin' } });
        t.false(stdout.includes('leftover-'), `round ${round} found ${stdout}`);
        t.deepEqual(
          marks.filter((earlier) => stdout.includes(earlier)),
          [],
        );
        await h.ran(id, leave);
        marks.push(mark);
        // Every other one is left alive beside the next.
        if (round % 2 === 0) await h.engine.remove(id, true, h.patience());
      }
      for (const id of ids) await h.engine.remove(id, true, h.patience());
    },
  },
];
