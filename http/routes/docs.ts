/** Owns `/docs/errors/{code}`: the page that every error's `docs` points to. HTML for people, Markdown for who asks for it. */
import type Router from '@koa/router';
import { ERROR_CODES, type ErrorCode } from '../../src/api/errors/codes.js';
import { ERROR_TABLE } from '../../src/api/errors/table.js';
import { refuse } from '../../src/api/refusal.js';

function isCode(text: string): text is ErrorCode {
  return ERROR_CODES.some((code) => code === text);
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function facts(code: ErrorCode): readonly (readonly [string, string])[] {
  const { status, retryAfterSeconds, fix } = ERROR_TABLE[code];
  const retry =
    retryAfterSeconds === undefined
      ? 'Sending the same request again does not help.'
      : `Send the same request again after ${retryAfterSeconds} s, or what Retry-After says.`;
  return [
    ['HTTP status', String(status)],
    ['What to do', fix],
    ['Retry', retry],
  ];
}

function markdown(code: ErrorCode): string {
  const { title, explanation } = ERROR_TABLE[code];
  const rows = facts(code).map(([name, value]) => `- **${name}:** ${value}`);
  return `# ${code}\n\n${title}.\n\n${explanation}\n\n${rows.join('\n')}\n`;
}

function page(code: ErrorCode): string {
  const { title, explanation } = ERROR_TABLE[code];
  const rows = facts(code).map(([name, value]) => `<dt>${name}</dt><dd>${escape(value)}</dd>`);
  return (
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${code}</title><style>body{font:16px/1.5 system-ui;max-width:42rem;margin:3rem auto;padding:0 1rem}dt{font-weight:600;margin-top:1rem}dd{margin:0}</style>` +
    `<h1>${code}</h1><p><strong>${escape(title)}.</strong></p><p>${escape(explanation)}</p><dl>${rows.join('')}</dl></html>\n`
  );
}

export function docsRoutes(router: Router): void {
  router.get('docs', '/docs/errors/:code', (ctx) => {
    const code = ctx.params['code'] ?? '';
    if (!isCode(code)) throw refuse('NotFound', `there is no error code "${code.slice(0, 64)}"`);
    const asHtml = ctx.accepts('html', 'text/markdown', 'text/plain') === 'html';
    ctx.set('content-type', asHtml ? 'text/html; charset=utf-8' : 'text/markdown; charset=utf-8');
    ctx.set('cache-control', 'public, max-age=3600');
    ctx.body = asHtml ? page(code) : markdown(code);
  });
  router.get('docs-index', '/docs/errors', (ctx) => {
    ctx.set('content-type', 'text/markdown; charset=utf-8');
    ctx.body =
      ERROR_CODES.map((code) => `- [${code}](/docs/errors/${code}): ${ERROR_TABLE[code].title}`).join('\n') + '\n';
  });
}
