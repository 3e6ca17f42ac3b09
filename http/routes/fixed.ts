/** Owns the list of the fixed routes, the few for which @koa/router is used. */
import type Router from '@koa/router';
import type { Room } from '../room.js';
import { openapiRoutes } from '../openapi/serve.js';
import { attemptRoutes } from './attempt.js';
import { docsRoutes } from './docs.js';
import { healthRoutes } from './health.js';
import { opsRoutes } from './ops.js';
import { unbuiltRoutes } from './unbuilt.js';

export function fixedRoutes(router: Router, room: Room): void {
  healthRoutes(router, room);
  docsRoutes(router);
  openapiRoutes(router, room);
  opsRoutes(router, room);
  attemptRoutes(router);
  unbuiltRoutes(router, room);
}
