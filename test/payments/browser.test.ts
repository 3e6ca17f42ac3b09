/** The payment pages in a real browser: by keyboard alone, with and without JavaScript, on narrow screens, light and dark, and on paper. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { HOUR, never } from './bench.js';
import { openCustomer, openShop, type Sale, type Shop } from './shop.js';

const PROGRAM = '/usr/bin/chromium';
const withBrowser = existsSync(PROGRAM) ? test : test.skip;
const NARROW = { width: 320, height: 640 };
/** Where pictures of the pages are put; unset: none are taken. */
const PICTURES = process.env['PAYMENT_PICTURES'];

let browser: Browser | undefined;

function launched(): Promise<Browser> {
  const quiet = ['quic', 'background-networking', 'component-update', 'sync'].map((what) => `--disable-${what}`);
  const args = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', ...quiet];
  return chromium.launch({ executablePath: PROGRAM, args, timeout: 60_000 });
}

if (existsSync(PROGRAM)) {
  test.before(async () => {
    browser = await launched();
  });
  test.after.always(() => browser?.close());
}

interface Visit {
  readonly page: Page;
  /** What the browser complained of. */
  readonly complaints: string[];
}

async function visit(t: ExecutionContext, options: BrowserContextOptions): Promise<Visit> {
  if (browser === undefined) throw new Error('the browser was not started');
  const context = await browser.newContext(options);
  context.setDefaultTimeout(20_000);
  t.teardown(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (!message.text().includes('favicon')) complaints.push(message.text());
  });
  return { page, complaints };
}

/** What has the focus, and how wide it is outlined in px. As all that runs in the browser it is text: this project does not load its types. */
const FOCUS = `(() => {
  const { activeElement } = document;
  const name = activeElement.labels?.[0]?.innerText ?? activeElement.innerText;
  const seen = activeElement.matches(':focus-visible');
  return { name, outline: seen ? Number.parseFloat(getComputedStyle(activeElement).outlineWidth) : 0 };
})()`;
const GROUND = 'getComputedStyle(document.documentElement).backgroundColor';

/** Moves the focus by the Tab key to what has this name, which must be seen to have it, and presses the key. */
async function press(t: ExecutionContext, page: Page, name: string, key = 'Enter'): Promise<void> {
  const passed: unknown[] = [];
  for (let tabs = 0; tabs < 12; tabs++) {
    await page.keyboard.press('Tab');
    const focus = await page.evaluate<{ readonly name: string; readonly outline: number }>(FOCUS);
    if (focus.name === name) {
      t.true(focus.outline >= 2, `the focus on "${name}" is seen`);
      return page.keyboard.press(key);
    }
    passed.push(focus.name);
  }
  t.fail(`"${name}" is not reached by the keyboard, only ${passed.join(', ')}`);
}

const heading = (page: Page): Promise<string> => page.getByRole('heading', { level: 1 }).innerText();

/** What can be told by a program: one main heading, names for all controls, no scrolling sideways, and enough contrast. */
async function check(t: ExecutionContext, page: Page, what: string): Promise<void> {
  const found = await page.evaluate(FAULTS);
  t.deepEqual(found, [], what);
}

/** Runs in the page, by the debugger, also where the page itself has no JavaScript. */
const FAULTS = `(() => {
  const faults = [];
  const root = document.documentElement;
  if (root.lang !== 'en') faults.push('no language');
  if (document.title === '') faults.push('no title');
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  if (document.querySelectorAll('main').length !== 1) faults.push('not one main');
  if (root.scrollWidth > root.clientWidth) faults.push('scrolls sideways: ' + root.scrollWidth);
  if (document.querySelectorAll('script').length > 0) faults.push('a script');
  const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
  if (new Set(ids).size !== ids.length) faults.push('an id twice');
  for (const one of document.querySelectorAll('[aria-describedby]'))
    if (document.getElementById(one.getAttribute('aria-describedby')) === null) faults.push('described by nothing');
  for (const box of document.querySelectorAll('input:not([type=hidden])'))
    if (box.labels.length === 0) faults.push('an input without a label');
  for (const button of document.querySelectorAll('button,a')) {
    if (button.innerText.trim() === '') faults.push('a control without a name');
    if (button.tagName === 'BUTTON' && button.getBoundingClientRect().height < 44) faults.push('a low button');
  }
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((part) => Number(part) / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if (!/, 0\\)$|transparent/.test(backgroundColor)) return backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { textContent, parentElement } = texts.currentNode;
    if (textContent.trim() === '') continue;
    const [a, b] = [light(getComputedStyle(parentElement).color), light(ground(parentElement))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 7) faults.push(textContent.trim() + ': contrast ' + contrast.toFixed(1));
  }
  return faults;
})()`;

for (const javaScriptEnabled of [false, true]) {
  const mode = `at 320 px ${javaScriptEnabled ? 'with' : 'without'} JavaScript`;
  const options = { javaScriptEnabled, viewport: NARROW };

  withBrowser(
    `by keyboard, ${mode}: a card is declined, pays and is kept, and the browser reaches the customer's page`,
    async (t) => {
      const { sell, bench, settled } = await openShop(t);
      const customer = await openCustomer(t);
      const sale = await sell({ saveCard: true }, `${customer.url}/thanks?order=1`);
      const { page, complaints } = await visit(t, options);
      await page.goto(sale.page);
      await check(t, page, 'open');
      await press(t, page, 'Try a card that is declined');
      await page.getByRole('alert').filter({ hasText: 'declined' }).waitFor();
      await check(t, page, 'declined');
      await press(t, page, 'Save the card for automatic purchases', 'Space');
      await press(t, page, 'Pay 20.00 USD');
      await page.waitForURL(`${customer.url}/**`);
      t.deepEqual(
        customer.asked,
        [{ url: '/thanks?order=1', referrer: undefined }],
        'no other site gets the secret address',
      );
      const payment = await bench.read(sale.id, sale.request);
      t.true(payment.state === 'Paid' && payment.card !== undefined);
      t.true(settled.length > 0);
      await page.goto(sale.page);
      t.is(await heading(page), 'Paid 20.00 USD');
      await check(t, page, 'paid');
      await page.goto(sale.done);
      t.is(await heading(page), 'Paid and credited', 'the customer’s address is given once');
      t.deepEqual(complaints, []);
    },
  );

  withBrowser(`by keyboard, ${mode}: a bank settles later, a payment is disputed, and a payer gives up`, async (t) => {
    const { sell, bench } = await openShop(t);
    const sale = await sell();
    const { page, complaints } = await visit(t, options);
    await page.goto(sale.page);
    await press(t, page, 'Pay by bank transfer');
    await page.getByRole('heading', { name: 'Waiting for the bank' }).waitFor();
    await check(t, page, 'pending');
    await page.goto(sale.done);
    t.is(await heading(page), 'Waiting for the bank');
    await check(t, page, 'landing');
    await page.goto(sale.page);
    await press(t, page, 'The bank pays');
    await page.getByRole('heading', { name: 'Paid 20.00 USD' }).waitFor();
    await press(t, page, 'Dispute this payment');
    await page.getByText('the bank has not decided').waitFor();
    await check(t, page, 'disputed');
    await press(t, page, 'Decide for the payer');
    await page.getByText('decided for the payer').waitFor();
    t.like(await bench.read(sale.id, sale.request), { state: 'Paid', disputes: [{ state: 'Lost' }] });
    const left = await sell();
    await page.goto(left.page);
    await press(t, page, 'Give up and go back');
    await page.waitForURL(left.request.cancelURL);
    t.is(await heading(page), 'Not paid yet');
    await page.getByRole('link', { name: 'Go to the payment page' }).press('Enter');
    await page.waitForURL(left.page);
    t.is(await heading(page), 'Pay 20.00 USD', 'a payer who gave up may come back');
    t.deepEqual(complaints, []);
  });
}

/** Each state of a page that there is, with the address at which it is shown. */
async function everyPage({ sell, bench, api }: Shop): Promise<readonly (readonly [name: string, url: string])[]> {
  const make = async (...actions: Parameters<Shop['bench']['act']>[1][]): Promise<Sale> => {
    const sale = await sell({ saveCard: true, amountUSD: '250.00' });
    for (const action of actions) await bench.act(sale.id, action);
    return sale;
  };
  const open = await make();
  const pending = await make('PayByBank');
  const failed = await make('PayByBank', 'BankRefuses');
  const paid = await make('Pay');
  const disputed = await make('Pay', 'Dispute');
  const long = `top-up-${'of-a-very-long-name-'.repeat(10)}`.slice(0, 200);
  const refunded = await sell({
    amountUSD: '1000.00',
    purchase: { org: `org-${'x'.repeat(60)}`, name: long, uid: 'uid-long' },
  });
  await bench.act(refunded.id, 'Pay');
  const source = { type: 'Checkout', id: refunded.id } as const;
  for (const [key, amountUSD] of [
    ['a', '100.50'],
    ['b', '20.00'],
  ] as const)
    await bench.processor.refund({ purchase: refunded.request.purchase, source, key, amountUSD }, never);
  const expired = await sell({ expires: bench.now() + 1 });
  bench.pass(HOUR / 2);
  return [
    ...([
      ['open', open.page],
      ['declined', `${open.page}?note=declined`],
      ['pending', pending.page],
    ] as const),
    ...([
      ['failed', failed.page],
      ['paid', paid.page],
      ['disputed', disputed.page],
      ['refunded', refunded.page],
    ] as const),
    ...([
      ['expired', expired.page],
      ['absent', `${api.url}/checkout/none`],
    ] as const),
    ...([
      ['receipt', `${refunded.page}/receipt`],
      ['invoice', `${refunded.page}/invoice`],
    ] as const),
    ...([
      ['landing-open', open.done],
      ['landing-pending', pending.done],
      ['landing-paid', paid.done],
    ] as const),
    ...([
      ['landing-failed', failed.done],
      ['landing-expired', expired.done],
    ] as const),
  ];
}

for (const colorScheme of ['light', 'dark'] as const) {
  withBrowser(
    `each page in ${colorScheme} colours has names, one heading and enough contrast, and fits wide and narrow screens`,
    async (t) => {
      const shop = await openShop(t);
      const pages = await everyPage(shop);
      const { page } = await visit(t, { colorScheme, javaScriptEnabled: false });
      for (const [size, viewport] of [
        ['wide', { width: 1_000, height: 700 }],
        ['narrow', NARROW],
      ] as const) {
        await page.setViewportSize(viewport);
        for (const [name, url] of pages) {
          await page.goto(url);
          await check(t, page, `${name}, ${size}`);
          if (PICTURES !== undefined)
            await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}-${size}.png`), fullPage: true });
        }
      }
    },
  );
}

withBrowser('an invoice prints on one sheet of A4 or letter, without what is only for the screen', async (t) => {
  const shop = await openShop(t);
  const invoice = (await everyPage(shop)).find(([name]) => name === 'invoice')?.[1] ?? '';
  const { page } = await visit(t, { colorScheme: 'dark' });
  await page.goto(invoice);
  for (const format of ['A4', 'Letter'] as const) {
    const pdf = await page.pdf({
      format,
      ...(PICTURES === undefined ? {} : { path: join(PICTURES, `invoice-${format}.pdf`) }),
    });
    t.is([...pdf.toString('latin1').matchAll(/\/Type \/Page\b/g)].length, 1, format);
  }
  await page.emulateMedia({ media: 'print' });
  await check(t, page, 'print');
  t.false(await page.getByRole('navigation').isVisible());
  t.is(await page.evaluate(GROUND), 'rgb(255, 255, 255)');
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, 'invoice-print.png'), fullPage: true });
});
