/** The attempt API of this deployment: where it listens, which tokens it takes, and what the environment of work says of it. */
import { join } from 'node:path';
import { openAttemptApi, type AttemptApi } from '../../http/attempt-api/server.js';
import type { HttpLog } from '../../http/deps.js';
import type { Actors } from '../../actors/open.js';
import type { AttemptAccess } from '../../actors/work/work-spec.js';
import { API_DIRECTORY, API_SOCKET, ENV_PREFIX } from '../brand.js';
import type { AttemptTokens } from '../../storage/envelope/attempt-tokens.js';

/** What the programs of a piece of work need. */
export function attemptAccess(
  directory: string,
  tokens: Pick<AttemptTokens, 'issue'>,
): (work: string) => AttemptAccess {
  return (work) => ({
    directory,
    env: {
      // For clients that use the socket; the name is only for the header. NO_PROXY has it.
      [`${ENV_PREFIX}API_URL`]: 'http://localhost',
      [`${ENV_PREFIX}API_SOCKET`]: `${API_DIRECTORY}/${API_SOCKET}`,
      [`${ENV_PREFIX}TOKEN`]: tokens.issue(work),
    },
  });
}

export function serveAttempts(
  directory: string,
  tokens: Pick<AttemptTokens, 'verify'>,
  actors: Pick<Actors, 'running'>,
  log: HttpLog,
): Promise<AttemptApi> {
  return openAttemptApi({
    socket: join(directory, API_SOCKET),
    verify: (token) => tokens.verify(token),
    isLive: (work) => actors.running.isLive(work),
    progress: (work, progress) => actors.running.progress(work, progress),
    log,
  });
}
