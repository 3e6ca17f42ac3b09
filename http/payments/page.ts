/** What all payment pages share: their frame, their headers, and how amounts and times are written. Without any script. */
import type { RouterContext } from '@koa/router';
import { html, type Html } from './html.js';
import { STYLE, STYLE_HASH } from './style.js';

export interface Page {
  readonly title: string;
  readonly body: Html;
  /** A document to print. */
  readonly isPaper?: boolean | undefined;
  /** Where its forms may lead to, by a redirect too, beside this origin. */
  readonly formTargets?: readonly string[] | undefined;
  /** The browser loads it again after some seconds. */
  readonly looksAgain?: boolean | undefined;
  /** The browser goes there at once. */
  readonly next?: string | undefined;
}

/** No cache and no index keeps a page, and the browser sends its address, which holds a secret, to nobody. */
export function answerPage(ctx: RouterContext, status: number, page: Page): void {
  ctx.status = status;
  ctx.set('content-type', 'text/html; charset=utf-8');
  setHeaders(ctx, page.formTargets);
  ctx.body = documentOf(page);
}

/** Of redirects too. */
export function setHeaders(ctx: RouterContext, formTargets: readonly string[] = []): void {
  ctx.set('content-security-policy', policyOf(formTargets));
  ctx.set('cache-control', 'no-store');
  ctx.set('referrer-policy', 'no-referrer');
  ctx.set('x-content-type-options', 'nosniff');
  ctx.set('x-robots-tag', 'noindex');
}

/** `form-action` also binds where a form leads by redirects: Chromium goes to no other origin from there. */
function policyOf(formTargets: readonly string[]): string {
  const origins = new Set(formTargets.flatMap((url) => originOf(url) ?? []));
  return [
    `default-src 'none'`,
    `style-src '${STYLE_HASH}'`,
    `form-action ${["'self'", ...origins].join(' ')}`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ');
}

/** Of an HTTP URL; undefined for anything else. */
export function originOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, origin } = new URL(url);
  return protocol === 'https:' || protocol === 'http:' ? origin : undefined;
}

const AGAIN_S = 3;

function documentOf({ title, body, isPaper = false, next, looksAgain = false }: Page): string {
  const style: Html = { html: `<style>${STYLE}</style>` };
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        ${next === undefined ? undefined : html`<meta http-equiv="refresh" content="0;url=${next}" />`}
        ${looksAgain ? html`<meta http-equiv="refresh" content="${String(AGAIN_S)}" />` : undefined}
        <title>${title}</title>
        ${style}
      </head>
      <body>
        <main class="${isPaper ? 'paper' : 'page'}">${body}</main>
      </body>
    </html> `;
  return document.html;
}

export function usd(amount: string): string {
  return `${amount} USD`;
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
const MINUTE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

export function dayOf(time: number): Html {
  return html`<time datetime="${new Date(time).toISOString().slice(0, 10)}">${DAY.format(time)}</time>`;
}

export function momentOf(time: number): Html {
  return html`<time datetime="${new Date(time).toISOString()}">${MINUTE.format(time)} UTC</time>`;
}

export const NO_SUCH_PAGE: Page = {
  title: 'Page not found',
  body: html`<h1>Page not found</h1>
    <p>
      No payment has this address. The link may be cut short: copy all of it, or open the purchase again where it was
      made.
    </p>`,
};

/** For what could not be done; `message` says why, `fix` what to do. */
export function problemPage(title: string, message: string, fix: string): Page {
  return {
    title,
    body: html`<h1>${title}</h1>
      <p>${message}</p>
      <p>${fix}</p>`,
  };
}
