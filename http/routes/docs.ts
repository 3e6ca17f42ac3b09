/** Serves `/docs/errors/{code}`, the page that every error's `docs` points to, and their index. HTML for people, Markdown for who asks for it. */
import type { Router, RouterContext } from '@koa/router';
import { PROTOCOL_TABLE } from '../../src/api/errors/protocol.js';
import { ERROR_TABLE, type ErrorEntry } from '../../src/api/errors/table.js';
import { refuse } from '../../src/api/refusal.js';

const PAGES: ReadonlyMap<string, ErrorEntry> = new Map<string, ErrorEntry>(
  Object.entries({ ...ERROR_TABLE, ...PROTOCOL_TABLE }).toSorted(([a], [b]) => (a < b ? -1 : 1)),
);

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function facts({ status, retryAfterSeconds, fix }: ErrorEntry): readonly (readonly [string, string])[] {
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

function markdown(code: string, entry: ErrorEntry): string {
  const { title, explanation } = entry;
  const rows = facts(entry).map(([name, value]) => `- **${name}:** ${value}`);
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

function page(code: string, entry: ErrorEntry): string {
  const { title, explanation } = entry;
  const rows = facts(entry).map(([name, value]) => `<dt>${name}</dt><dd>${escape(value)}</dd>`);
  return html(
    code,
    `<p><strong>${escape(title)}.</strong></p><p>${escape(explanation)}</p><dl>${rows.join('')}</dl>` +
      `<p><a href="/docs/errors">All error codes</a></p>`,
  );
}

function indexPage(): string {
  const rows = [...PAGES].map(
    ([code, { status, title }]) =>
      `<tr><td>${status}</td><td><a href="/docs/errors/${code}">${code}</a></td><td>${escape(title)}</td></tr>`,
  );
  return html('Error codes', `<table><tr><th>Status</th><th>Code</th><th></th></tr>${rows.join('')}</table>`);
}

function indexMarkdown(): string {
  return [...PAGES].map(([code, { title }]) => `- [${code}](/docs/errors/${code}): ${title}`).join('\n') + '\n';
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
    const entry = PAGES.get(code);
    if (entry === undefined) throw refuse('NotFound', `there is no error code "${code.slice(0, 64)}"`);
    answer(
      ctx,
      () => page(code, entry),
      () => markdown(code, entry),
    );
  });
  router.get('docs-index', '/docs/errors', (ctx) => answer(ctx, indexPage, indexMarkdown));
}
