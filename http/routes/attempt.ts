/**
 * Refuses calls of the attempt API on the service's ports. That API takes an attempt's own
 * token, which is valid only on the socket inside its work (`attempt-api/server.ts`).
 */
import type { Router } from '@koa/router';
import { refuse } from '../../src/api/refusal.js';

const ROUTES = [
  ['POST', '/attempt/v1/progress'],
  ['POST', '/attempt/v1/checkpoints'],
  ['GET', '/attempt/v1/rendezvous'],
] as const;

export function attemptRoutes(router: Router): void {
  for (const [method, path] of ROUTES) {
    router.register(path, [method], () => {
      throw refuse('Unauthorized', `${path} takes the token of an attempt, on the socket inside its work`, {
        fix: 'Call it from inside running work, on the unix socket that SVC_API_SOCKET names, with SVC_TOKEN.',
      });
    });
  }
}
