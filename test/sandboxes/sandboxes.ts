/** What black-box tests of Sandboxes share: a service, small Sandboxes, and waiting for what they say of themselves. */
import { type Client, listAt, numberAt, objectOf, path, textAt, valueAt } from '../e2e/client.js';
import { processesOn } from '../e2e/processes.js';
import { shareRunning, startRunning, type Running, type Setup } from '../e2e/running.js';
import { until } from '../e2e/until.js';
import { sh, SMALL } from '../jobs/jobs.js';

export const SANDBOXES = path('sandboxes', 'default');
const ATTEMPTS = path('attempts', 'default');

/**
 * Of the service that test files of Sandboxes share: places for all of them at once, and what `workspaces/public-url.test.ts` is about, which is
 * nothing to a Sandbox.
 */
export const WITH_OTHERS = {
  TROUPE_NODE_CPU: '16',
  TROUPE_PUBLIC_URL: 'https://troupe.example.com',
  TROUPE_SSH_PORT: 'any',
} as const;

/** On a busy machine what takes a second may take many. */
const PHASE_MS = 60_000;

/** Notes each epoch in a file of /workspace, says what stands there, and stays. */
export const NOTES = sh('echo $SVC_EPOCH >> /workspace/epochs; cat /workspace/epochs; exec sleep infinity');

export interface Sandboxes {
  readonly service: Running;
  client(): Client;
  /** Fails unless it is created. */
  post(name: string, spec?: object): Promise<unknown>;
  patch(name: string, change: object): Promise<void>;
  get(name: string): Promise<unknown>;
  once(name: string, what: string, holds: (sandbox: unknown) => boolean): Promise<unknown>;
  /** Once it is in this phase, at this epoch if one is given. */
  phase(name: string, phase: string, epoch?: number): Promise<unknown>;
  gone(name: string): Promise<void>;
  attempts(name: string): Promise<readonly unknown[]>;
  /** What the main program of this epoch has printed, once that is this. */
  said(name: string, epoch: number, text: string): Promise<string>;
  runner(): Promise<number>;
}

export function condition(sandbox: unknown, type: string): string {
  const found = listAt(sandbox, 'status', 'conditions').find((each) => textAt(each, 'type') === type);
  return `${textAt(found, 'status')} ${textAt(found, 'reason')}`;
}

interface Teardown {
  teardown(release: () => Promise<void>): void;
}

/** At a service of its own. */
export async function openSandboxes(t: Teardown | undefined, setup: Setup = {}): Promise<Sandboxes> {
  return sandboxesAt(await startRunning(t, setup));
}

/** At the one that test files share. */
export async function shareSandboxes(): Promise<Sandboxes> {
  return sandboxesAt(await shareRunning(undefined, { env: WITH_OTHERS }));
}

export function sandboxesAt(service: Running): Sandboxes {
  const client = (): Client => service.client();
  const get = async (name: string): Promise<unknown> => (await client().get(`${SANDBOXES}/${name}`)).body;
  const once: Sandboxes['once'] = async (name, what, holds) => {
    let last: unknown;
    try {
      return await until(
        `Sandbox ${name} ${what}`,
        async () => {
          last = await get(name);
          return holds(last) ? last : undefined;
        },
        PHASE_MS,
      );
    } catch (error) {
      throw new Error(`last seen: ${JSON.stringify(valueAt(last, 'status'))}`, { cause: error });
    }
  };
  const attempts = async (name: string): Promise<readonly unknown[]> =>
    listAt((await client().get(`${ATTEMPTS}?labelSelector=svc.dev%2Fsandbox%3D${name}`)).body, 'items').toSorted(
      (a, b) => numberAt(a, 'spec', 'epoch') - numberAt(b, 'spec', 'epoch'),
    );
  return {
    service,
    client,
    get,
    once,
    attempts,
    async post(name, spec = {}) {
      const whole = { image: 'svc/agent-tools', resources: SMALL, ...spec };
      const answer = await client().post(SANDBOXES, objectOf('Sandbox', name, whole));
      if (answer.status !== 201) throw new Error(`create of Sandbox ${name} answered ${answer.status}: ${answer.text}`);
      return answer.body;
    },
    async patch(name, change) {
      const answer = await client().merge(`${SANDBOXES}/${name}`, change);
      if (answer.status !== 200) throw new Error(answer.text);
    },
    phase: (name, phase, epoch) =>
      once(
        name,
        `is ${phase}`,
        (box) =>
          textAt(box, 'status', 'phase') === phase &&
          (epoch === undefined || numberAt(box, 'status', 'attempt', 'epoch') === epoch),
      ),
    async gone(name) {
      await until(
        `Sandbox ${name} is gone`,
        async () => (await client().get(`${SANDBOXES}/${name}`)).status === 404,
        PHASE_MS,
      );
      await until(`its Attempts are gone`, async () => (await attempts(name)).length === 0, PHASE_MS);
    },
    async said(name, epoch, text) {
      const attempt = (await attempts(name)).find((each) => numberAt(each, 'spec', 'epoch') === epoch);
      return until(`epoch ${epoch} of ${name} has said it`, async () => {
        const log = await client().get(`${ATTEMPTS}/${textAt(attempt, 'metadata', 'name')}/logs`);
        if (log.text !== text) throw new Error(log.text);
        return text;
      });
    },
    async runner() {
      for (const [pid, line] of processesOn(service.dataDir)) {
        if (/^\S*node .*runner\/main\.js/.test(line)) return pid;
      }
      throw new Error('there is no runner');
    },
  };
}
