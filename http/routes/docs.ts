/** Owns `/docs/errors/{code}`, the page that every error's `docs` points to, and their index. HTML for people, Markdown for who asks for it. */
import type { Router, RouterContext } from '@koa/router';
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

const STYLE =
  'body{font:16px/1.5 system-ui;max-width:42rem;margin:3rem auto;padding:0 1rem}dt{font-weight:600;margin-top:1rem}dd{margin:0}td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}';

function html(title: string, body: string): string {
  return (
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${title}</title><style>${STYLE}</style><h1>${title}</h1>${body}</html>\n`
  );
}

function page(code: ErrorCode): string {
  const { title, explanation } = ERROR_TABLE[code];
  const rows = facts(code).map(([name, value]) => `<dt>${name}</dt><dd>${escape(value)}</dd>`);
  return html(
    code,
    `<p><strong>${escape(title)}.</strong></p><p>${escape(explanation)}</p><dl>${rows.join('')}</dl>` +
      `<p><a href="/docs/errors">All error codes</a></p>`,
  );
}

function indexPage(): string {
  const rows = ERROR_CODES.map((code) => {
    const { status, title } = ERROR_TABLE[code];
    return `<tr><td>${status}</td><td><a href="/docs/errors/${code}">${code}</a></td><td>${escape(title)}</td></tr>`;
  });
  return html('Error codes', `<table><tr><th>Status</th><th>Code</th><th></th></tr>${rows.join('')}</table>`);
}

function indexMarkdown(): string {
  return ERROR_CODES.map((code) => `- [${code}](/docs/errors/${code}): ${ERROR_TABLE[code].title}`).join('\n') + '\n';
}

/** HTML unless Markdown or plain text is asked for. */
function answer(ctx: RouterContext, asHtml: () => string, asText: () => string): void {
  const isHtml = ctx.accepts('html', 'text/markdown', 'text/plain') === 'html';
  ctx.set('content-type', isHtml ? 'text/html; charset=utf-8' : 'text/markdown; charset=utf-8');
  ctx.set('cache-control', 'public, max-age=3600');
  ctx.vary('Accept');
  ctx.body = isHtml ? asHtml() : asText();
}

export function docsRoutes(router: Router): void {
  router.get('docs', '/docs/errors/:code', (ctx) => {
    const code = ctx.params['code'] ?? '';
    if (!isCode(code)) throw refuse('NotFound', `there is no error code "${code.slice(0, 64)}"`);
    answer(
      ctx,
      () => page(code),
      () => markdown(code),
    );
  });
  router.get('docs-index', '/docs/errors', (ctx) => answer(ctx, indexPage, indexMarkdown));
}
