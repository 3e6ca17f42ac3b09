/** The list of the fixed routes, the few for which @koa/router is used. */
import type Router from '@koa/router';
import type { ServerContext } from '../server-context.js';
import { openapiRoutes } from '../openapi/serve.js';
import { checkoutRoutes } from '../payments/routes.js';
import { webhookRoutes } from '../payments/webhook.js';
import { attemptRoutes } from './attempt.js';
import { docsRoutes } from './docs.js';
import { healthRoutes } from './health.js';
import { opsRoutes } from './ops.js';

export function fixedRoutes(router: Router, context: ServerContext): void {
  healthRoutes(router, context);
  docsRoutes(router);
  openapiRoutes(router, context);
  opsRoutes(router, context);
  attemptRoutes(router);
  checkoutRoutes(router, context);
  webhookRoutes(router, context);
}
