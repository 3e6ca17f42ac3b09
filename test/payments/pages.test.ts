/** The pages of payments over HTTP: what they show, do, refuse and tell nobody. */
import { createHash } from 'node:crypto';
import { request as askRaw } from 'node:http';
import test from 'ava';
import type { Landing, Payments } from '../../actors/payments/service.js';
import { refuse } from '../../src/api/refusal.js';
import { openShop } from './shop.js';
import { HOUR, never } from './bench.js';

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual', headers });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

async function press(
  url: string,
  action: string,
  more: Record<string, string> = {},
  headers: Record<string, string> = {},
) {
  const body = new URLSearchParams({ action, ...more });
  const response = await fetch(url, { method: 'POST', redirect: 'manual', body, headers });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** The values of the page's buttons. */
function buttons({ text }: Answer): readonly string[] {
  return [...text.matchAll(/<button[^>]* value="([\w-]+)"/g)].map(([, value]) => value ?? '');
}

const title = ({ text }: Answer): string => /<h1>([^<]*)<\/h1>/.exec(text)?.[1] ?? '';

test('a checkout page shows what is bought, until when and that it is a test, and offers each way to pay', async (t) => {
  const { sell } = await openShop(t);
  const sale = await sell();
  const page = await get(sale.page);
  t.is(page.status, 200);
  t.is(title(page), 'Pay 20.00 USD');
  for (const part of [
    'This is a test.',
    'no money moves',
    'top-up-1',
    '27 November 2026',
    '13:00 UTC',
    '<html lang="en">',
  ])
    t.true(page.text.includes(part), part);
  t.false(page.text.includes('acme'), 'strangers do not see the org');
  t.deepEqual(buttons(page), ['pay', 'decline', 'bank', 'abandon']);
  t.false(page.text.includes('type="checkbox"'));
  t.notRegex(page.text, /<script|javascript:|style=| on\w+=/);
  const saving = await get((await sell({ saveCard: true })).page);
  t.regex(saving.text, /<input type="checkbox" id="save" name="save"/);
  t.regex(saving.text, /ends\s+in \.13/);
});

test('each button acts, settles the purchase and leads where it says', async (t) => {
  const { sell, settled, bench } = await openShop(t);
  const sale = await sell({ saveCard: true });
  const { page, done, request } = sale;
  const go = async (action: string, more?: Record<string, string>) => {
    const answer = await press(page, action, more);
    t.is(answer.status, 303, action);
    return (answer.headers.get('location') ?? '').replace(page, '').replace(/^.*\/checkout\/[\w-]{43}/, '');
  };
  t.is(await go('decline'), '?note=declined');
  t.regex((await get(`${page}?note=declined`)).text, /role="alert">The card was declined/);
  t.is(await go('abandon'), request.cancelURL);
  t.is(await go('pay', { save: 'on' }), done);
  t.is(await go('pay', { save: 'on' }), done, 'a second press leads to the same place');
  t.is(settled.length, 3);
  t.deepEqual(settled[0], request.purchase);
  const paid = await bench.read(sale.id, request);
  t.true(paid.state === 'Paid' && paid.card !== undefined);
  t.deepEqual(buttons(await get(page)), ['dispute']);
  t.notRegex((await get(`${page}?note=declined`)).text, /role="alert"/, 'as after the Back of a browser');
  t.is(await go('dispute'), '?note=done');
  t.deepEqual(buttons(await get(page)), ['win', 'lose']);
  t.is(await go('lose'), '?note=done');
  t.deepEqual(buttons(await get(page)), ['win']);
  t.is(await go('win'), '?note=done');
  t.deepEqual(buttons(await get(page)), []);
  t.is(await go('lose'), '?note=not-now');

  const byBank = await sell();
  t.regex((await press(byBank.page, 'bank')).headers.get('location') ?? '', /\/checkout\/[\w-]{43}\?note=done$/);
  const pending = await get(byBank.page);
  t.is(title(pending), 'Waiting for the bank');
  t.deepEqual(buttons(pending), ['bank-pays', 'bank-refuses']);
  await press(byBank.page, 'bank-refuses');
  t.is(title(await get(byBank.page)), 'The payment failed');

  const plain = await sell();
  await press(plain.page, 'pay', { save: 'on' });
  const notSaved = await bench.read(plain.id, plain.request);
  t.true(notSaved.state === 'Paid' && notSaved.card === undefined, 'a page that does not ask saves no card');
});

test('an expired page says so and takes nothing', async (t) => {
  const { sell, bench } = await openShop(t);
  const { page, id } = await sell();
  bench.pass(HOUR);
  const expired = await get(page);
  t.is(title(expired), 'This page has expired');
  t.deepEqual(buttons(expired), []);
  t.regex((await press(page, 'pay')).headers.get('location') ?? '', /\?note=not-now$/);
  t.is((await bench.desk.find(id))?.payment.state, 'Expired');
});

test('a purchase that cannot be settled now is paid all the same', async (t) => {
  const selling = await openShop(t);
  const settle = () => Promise.reject(refuse('Unavailable', 'storage did not answer'));
  const { api } = await openShop(t, {
    payments: { ...paymentsOf(undefined), processor: 'Test', desk: selling.bench.desk, settle },
  });
  const { id, done } = await selling.sell();
  const answer = await press(`${api.url}/checkout/${id}`, 'pay');
  t.is(answer.headers.get('location'), done);
  t.is((await selling.bench.desk.find(id))?.payment.state, 'Paid');
  t.true(api.logged.some((line) => line.startsWith('a payment could not be settled at once')));
});

test('every page of the processor and of returns has the headers that keep its address secret and foreign content out', async (t) => {
  const { sell } = await openShop(t);
  const { page, done } = await sell();
  const posted = await press(page, 'pay');
  for (const answer of [
    posted,
    ...(await Promise.all([page, `${page}/receipt`, `${page}/invoice`, done, `${page}x`].map((url) => get(url)))),
  ]) {
    const header = (name: string) => answer.headers.get(name) ?? '';
    t.is(header('referrer-policy'), 'no-referrer');
    t.is(header('x-content-type-options'), 'nosniff');
    t.is(header('cache-control'), 'no-store');
    t.is(header('x-robots-tag'), 'noindex');
    const policy = header('content-security-policy');
    for (const part of [`default-src 'none'`, `form-action 'self'`, `base-uri 'none'`, `frame-ancestors 'none'`])
      t.true(policy.includes(part), `${part} in ${policy}`);
    if (answer === posted) continue;
    t.is(header('content-type'), 'text/html; charset=utf-8');
    const style = /<style>([^]*?)<\/style>/.exec(answer.text)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    t.true(policy.includes(`style-src 'sha256-${hash}'`), 'the style that is there is the one that is let in');
  }
});

test('ids that no page has, malformed ones and unpaid papers are pages that are not found', async (t) => {
  const { sell, api } = await openShop(t);
  const { page, id } = await sell();
  const wrong = ['A'.repeat(43), 'short', '%00', '%ff', `${id}.`, encodeURIComponent('../../livez'), 'x'.repeat(2_000)];
  const urls = [...wrong.map((one) => `${api.url}/checkout/${one}`), `${page}/receipt`, `${page}/invoice`];
  for (const url of urls) {
    const answer = await get(url);
    t.is(answer.status, 404, url.slice(0, 100));
    t.is(title(answer), 'Page not found');
    if (!url.includes(id)) t.is((await press(url, 'pay')).status, 404);
  }
  const posted = await fetch(page, { method: 'PUT' });
  t.is(posted.status, 405);
});

test('a form of another site, of another type, too large or without a known action does nothing', async (t) => {
  const { sell, bench } = await openShop(t);
  const { page, id } = await sell();
  const host = new URL(page).host;
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.test' },
    { origin: 'nonsense' },
    { origin: `http://${host}.evil.test` },
  ])
    t.is((await press(page, 'pay', {}, headers)).status, 403, JSON.stringify(headers));
  const post = (body: string, type = 'application/x-www-form-urlencoded') =>
    fetch(page, { method: 'POST', body, redirect: 'manual', headers: { 'content-type': type } });
  t.is((await post('{"action":"pay"}', 'application/json')).status, 415);
  t.is((await post('action=pay', 'text/plain')).status, 415);
  const large = await post(`action=pay&x=${'x'.repeat(4_090)}`);
  t.is(large.status, 413);
  t.regex(await large.text(), /<h1>/);
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(`action=pay&x=${'x'.repeat(8_000)}`));
      controller.close();
    },
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const chunked = await fetch(page, { method: 'POST', body: stream, duplex: 'half', headers });
  t.is(chunked.status, 413, 'also without a length');
  for (const body of ['', 'action=', 'action=constructor', 'action=Pay', 'save=on'])
    t.is((await post(body)).status, 400, body);
  t.is((await bench.desk.find(id))?.payment.state, 'Open');
  for (const own of [
    { origin: `http://${host}` },
    { origin: 'null', 'sec-fetch-site': 'same-origin' },
    { origin: `https://${host}` },
  ])
    t.is((await press(page, 'decline', {}, own)).status, 303, JSON.stringify(own));
});

test('what others wrote is escaped wherever it is shown', async (t) => {
  const evil = `<img src=x onerror="alert('1')">&`;
  const landing: Landing = {
    name: evil,
    amountUSD: '5.00',
    phase: 'Running',
    paid: false,
    checkoutURL: `https://x.test/"><script>`,
  };
  const { sell, api } = await openShop(t);
  const { page } = await sell({ purchase: { org: evil, name: evil, uid: 'uid-evil' } });
  await press(page, 'pay');
  for (const url of [page, `${page}/receipt`, `${page}/invoice`]) {
    const { text } = await get(url);
    t.false(text.includes('<img'), url);
    t.true(text.includes('&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;'), url);
  }
  const other = await openShop(t, { payments: paymentsOf(landing) });
  const { text } = await get(`${other.api.url}/payments/done/u/t`);
  t.false(text.includes('<img') || text.includes('"><script>'));
  t.regex((await get(`${api.url}/checkout/${encodeURIComponent(evil)}`)).text, /Page not found/);
});

/** Payments at Stripe, where every browser that comes back finds this. */
function paymentsOf(landing: Landing | undefined): Payments {
  return {
    ...{ processor: 'Stripe', desk: undefined },
    settle: async () => true,
    landing: async () => landing,
    notice: async () => ({ outcome: 'Later' }),
    refund: async () => ({ outcome: 'NotFound' }),
    storageFull: () => undefined,
  };
}

test('an invoice keeps its amounts, and what is paid back later stands below it as credit notes', async (t) => {
  const { sell, bench } = await openShop(t);
  const { page, id, request } = await sell();
  await press(page, 'pay');
  const before = await get(`${page}/invoice`);
  for (const part of [
    'Invoice TEST-000001',
    'this deployment (test)',
    'Organization acme',
    'no tax',
    '27 November 2026',
    'top-up-1',
  ])
    t.true(before.text.includes(part), part);
  t.false(before.text.includes('Credit note'));
  bench.pass(24 * HOUR);
  const { purchase } = request;
  const source = { type: 'Checkout', id } as const;
  for (const [key, amountUSD] of [
    ['a', '5.50'],
    ['b', '4.50'],
  ] as const)
    await bench.processor.refund({ purchase, source, key, amountUSD }, never);
  const after = await get(`${page}/invoice`);
  const table = /<table>[^]*?<\/table>/;
  t.is(table.exec(after.text)?.[0], table.exec(before.text)?.[0], 'an issued invoice never changes');
  for (const part of ['TEST-000001-C1', '−5.50 USD', 'TEST-000001-C2', '−4.50 USD', '28 November 2026', '10.00 USD'])
    t.true(after.text.includes(part), part);
  const receipt = await get(`${page}/receipt`);
  for (const part of ['Receipt for 20.00 USD', 'test card ending in 4242', '5.50 USD on', 'TEST-000001'])
    t.true(receipt.text.includes(part), part);
});

test('the page that the browser comes back to says how the payment stands, and leads to the customer once', async (t) => {
  const { sell, bench, api } = await openShop(t);
  const sale = await sell({}, 'https://customer.test/thanks?a=1&b=2');
  const open = await get(sale.done);
  t.is(title(open), 'Not paid yet');
  t.true(open.text.includes(`href="${sale.page}"`));
  await press(sale.page, 'bank');
  t.is((await fetch(sale.done, { method: 'HEAD' })).status, 404, 'a HEAD uses nothing up');
  const onward = await get(sale.done);
  t.is(onward.status, 200);
  t.regex(onward.text, /http-equiv="refresh" content="0;url=https:\/\/customer\.test\/thanks\?a=1&amp;b=2"/);
  t.true(onward.text.includes('<a href="https://customer.test/thanks?a=1&amp;b=2">'));
  const pending = await get(sale.done);
  t.is(title(pending), 'Waiting for the bank');
  t.false(pending.text.includes('customer.test'));
  t.true(pending.text.includes(`href="${sale.page}"`), 'what the bank does is said there');
  await bench.act(sale.id, 'BankPays');
  t.is(title(await get(sale.done)), 'Paid and credited');
  const failed = await sell();
  bench.pass(HOUR);
  t.is(title(await get(failed.done)), 'The payment page has expired');
  t.is(title(await get(failed.request.cancelURL)), 'The payment page has expired');
  for (const wrong of [
    '/payments/done/uid-1/other',
    '/payments/cancelled/none/token',
    `/payments/done/${'u'.repeat(300)}/t`,
    '/payments/done/%ff/t',
  ]) {
    const answer = await get(api.url + wrong);
    t.is(answer.status, 404, wrong);
    t.is(title(answer), 'Page not found');
  }
});

test('a payment whose credits are on their way is shown as paid, and the page looks again by itself', async (t) => {
  const landing: Landing = {
    ...{ name: 'n', amountUSD: '5.00', phase: 'Running', paid: true, checkoutURL: 'https://pay.test/1' },
    receiptURL: 'https://pay.test/1/receipt',
  };
  const { api } = await openShop(t, { payments: paymentsOf(landing) });
  const shown = await get(`${api.url}/payments/done/u/t`);
  t.is(title(shown), 'Paid');
  t.regex(shown.text, /http-equiv="refresh" content="3"/);
  t.false(shown.text.includes('Go to the payment page'), 'nobody pays twice');
  t.true(shown.text.includes('href="https://pay.test/1/receipt"'));
});

test('a redirect that is no address of the web is not followed', async (t) => {
  for (const redirect of ['javascript:alert(1)', 'data:text/html,x', '//evil', '']) {
    const landing: Landing = { name: 'n', amountUSD: '5.00', phase: 'Succeeded', paid: true, redirect };
    const { api } = await openShop(t, { payments: paymentsOf(landing) });
    const { text } = await get(`${api.url}/payments/done/u/t`);
    t.false(text.includes('refresh') || (redirect !== '' && text.includes(redirect)), redirect);
  }
});

test('without the test processor its pages are not found, and those of returns are there', async (t) => {
  const landing: Landing = { name: 'n', amountUSD: '5.00', phase: 'Succeeded', paid: true };
  const { api } = await openShop(t, { payments: paymentsOf(landing) });
  for (const path of ['', '/receipt', '/invoice'])
    t.is((await get(`${api.url}/checkout/${'A'.repeat(43)}${path}`)).status, 404);
  t.is((await press(`${api.url}/checkout/${'A'.repeat(43)}`, 'pay')).status, 404);
  t.is(title(await get(`${api.url}/payments/done/u/t`)), 'Paid and credited');
  t.is(title(await get(`${api.url}/payments/cancelled/u/t`)), 'Paid and credited');
});

test('an outage, a standby and too many requests are answered, the first two as pages', async (t) => {
  const { api, sell } = await openShop(t, { limits: { rates: { key: 1_000, org: 1_000, address: 1 } } });
  const { page } = await sell();
  api.health.active = false;
  const standby = await get(page);
  t.is(standby.status, 503);
  t.is(standby.headers.get('retry-after'), '1');
  t.regex(standby.text, /<h1>/);
  api.health.active = true;
  const gone = () => Promise.reject(refuse('Unavailable', 'storage did not answer'));
  const out = await openShop(t, {
    payments: { ...paymentsOf(undefined), processor: 'Test', desk: { find: gone, act: gone } },
  });
  const outage = await get(`${out.api.url}/checkout/${'A'.repeat(43)}`);
  t.is(outage.status, 503);
  t.regex(outage.text, /<h1>/);
  let refused = 0;
  for (let i = 0; i < 15; i++) refused += (await get(page)).status === 429 ? 1 : 0;
  t.true(refused > 0, 'an address without a key is bounded');
});

test('the log of requests does not tell the addresses of payments', async (t) => {
  const { api, sell } = await openShop(t, { config: { accessLog: true } });
  const { page, id, done } = await sell();
  for (const url of [page, `${page}/invoice`, done, done.replace('done', 'cancelled')]) await get(url);
  const { host, port } = new URL(api.url);
  const key = page.slice(page.lastIndexOf('/') + 1);
  const odd = [
    `//checkout/${key}`,
    `/./checkout/${key}`,
    `/checkout%2f${key}`,
    `/%63heckout/${key}`,
    `/checkout\\${key}`,
  ];
  for (const path of [...odd, `http://${host}/checkout/${key}`, new URL(done).pathname.toUpperCase()])
    await new Promise<void>((resolve, reject) => {
      const asked = askRaw({ host: '127.0.0.1', port, path }, (answer) => answer.resume().on('end', resolve));
      asked.on('error', reject).end();
    });
  const lines = api.logged.filter((line) => line.startsWith('request '));
  t.true(lines.length >= 4);
  t.true(lines.length >= 11);
  for (const line of lines) t.notRegex(line, new RegExp(`${id}|token-of-the-test`, 'i'));
  t.true(lines.some((line) => line.includes('"path":"/checkout/…"')));
});
