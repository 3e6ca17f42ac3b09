/**
 * Serves `/livez`, `/readyz`, `/metrics`, `/version`: what machines ask about this process. They tell no tenant's data, and need no key but
 * `/metrics`, by setting. An orchestrator kills what is not live, so liveness is the event loop alone: it answers, or it does not (I13).
 * Health reads a few values in memory and is not limited; metrics are rendered once a second for all, and count as any request without a key.
 */
import type Router from '@koa/router';
import { OPERATOR_SCOPE } from '../../src/api/access/scope.js';
import { requireScope } from '../auth/authorise.js';
import { exchangeOf } from '../exchange.js';
import { openMetricsText } from '../metrics-text.js';
import type { ServerContext } from '../server-context.js';

export function healthRoutes(router: Router, context: ServerContext): void {
  for (const path of ['/livez', '/healthz']) {
    router.get(path, (ctx) => {
      ctx.body = 'ok\n';
    });
  }
  router.get('readyz', '/readyz', (ctx) => {
    const missing = context.draining() ? ['draining'] : context.health.missing();
    ctx.status = missing.length === 0 ? 200 : 503;
    if (missing.length > 0) ctx.set('retry-after', '1');
    ctx.body = { ready: missing.length === 0, missing, behind: context.health.behind(), ...context.health.facts() };
  });
  const text = openMetricsText(context.metrics);
  router.get('metrics', '/metrics', async (ctx) => {
    if (!context.config.metricsOpen) {
      const { authorization } = ctx.req.headers;
      const { caller } = await context.authenticator.authenticate(authorization, exchangeOf(ctx.res).from);
      requireScope(caller, OPERATOR_SCOPE, '');
    }
    ctx.set('content-type', context.metrics.contentType);
    ctx.body = await text.read();
  });
  router.get('version', '/version', (ctx) => {
    const [major = '0', minor = '0'] = context.config.productVersion.replace(/^v/, '').split('.');
    ctx.body = {
      major,
      minor,
      gitVersion: context.config.productVersion,
      gitCommit: '',
      gitTreeState: '',
      buildDate: '1970-01-01T00:00:00Z',
      goVersion: '',
      compiler: `node ${process.version}`,
      platform: `${process.platform}/${process.arch}`,
    };
  });
}
