/** The pages of payments on an HTTP server: the embedded test processor on a real Postgres, and TopUps that are only what was sold here. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { Landing, Payments } from '../../actors/payments/service.js';
import type { CheckoutRequest } from '../../src/engines/payments/processor.js';
import type { Payment, Purchase } from '../../src/kinds/topup/payment.js';
import { openTestApi, type TestApi, type TestApiOptions } from '../http/support/test-api.js';
import { openTestBench, type TestBench } from './bench.js';

export interface Sale {
  readonly id: string;
  readonly request: CheckoutRequest;
  /** Addresses of the page to pay at, and of the one that the browser comes back to. */
  readonly page: string;
  readonly done: string;
}

export interface Shop {
  readonly api: TestApi;
  readonly bench: TestBench;
  /** Purchases that were settled, in order. */
  readonly settled: Purchase[];
  /** `successURL`: where the customer wants the browser to go, once. */
  sell(more?: Partial<CheckoutRequest>, successURL?: string): Promise<Sale>;
}

interface Sold {
  readonly request: CheckoutRequest;
  readonly id: string;
  successURL: string | undefined;
}

const TOKEN = 'token-of-the-test';

export async function openShop(t: Pick<ExecutionContext, 'teardown'>, options: TestApiOptions = {}): Promise<Shop> {
  const sold = new Map<string, Sold>();
  const settled: Purchase[] = [];
  let bench: TestBench | undefined;

  const landing: Payments['landing'] = async (uid, token, way) => {
    const sale = sold.get(uid);
    if (sale === undefined || token !== TOKEN || bench === undefined) return undefined;
    const payment = await bench.read(sale.id, sale.request);
    const redirect = way === 'Done' && payment.state !== 'Open' ? sale.successURL : undefined;
    if (redirect !== undefined) sale.successURL = undefined;
    const checkoutURL = `${api.url}/checkout/${sale.id}`;
    return {
      name: sale.request.purchase.name,
      amountUSD: sale.request.amountUSD,
      ...standing(payment, checkoutURL),
      paid: payment.state === 'Paid',
      redirect,
    };
  };

  const api: TestApi = await openTestApi(t, {
    payments: {
      processor: 'Test',
      get desk() {
        return bench?.desk;
      },
      async settle(purchase) {
        settled.push(purchase);
        return true;
      },
      landing,
      notice: async () => ({ outcome: 'Later' }),
      refund: async () => ({ outcome: 'NotFound' }),
      storageFull: () => undefined,
    },
    ...options,
  });
  const opened = await openTestBench(t, api.url);
  bench = opened;
  let sales = 0;

  return {
    ...{ api, bench: opened, settled },
    async sell(more, successURL) {
      const uid = `uid-${++sales}`;
      const done = `${api.url}/payments/done/${uid}/${TOKEN}`;
      const request = opened.request({
        purchase: { org: 'acme', name: `top-up-${sales}`, uid },
        doneURL: done,
        cancelURL: `${api.url}/payments/cancelled/${uid}/${TOKEN}`,
        ...more,
      });
      const id = await opened.open(request);
      sold.set(uid, { request, id, successURL });
      return { id, request, page: `${api.url}/checkout/${id}`, done };
    },
  };
}

function standing(payment: Payment, checkoutURL: string): Pick<Landing, 'phase' | 'reason' | 'checkoutURL'> {
  switch (payment.state) {
    case 'Open':
      return { phase: 'Running', checkoutURL };
    case 'Pending':
      return { phase: 'Running', reason: 'PaymentPending', checkoutURL };
    case 'Paid':
      return { phase: 'Succeeded' };
    case 'Expired':
      return { phase: 'Failed', reason: 'Expired' };
    default:
      return { phase: 'Failed', reason: 'PaymentFailed' };
  }
}

/** A site of the customer, of another origin than the service's, and what was asked of it. */
export async function openCustomer(t: Pick<ExecutionContext, 'teardown'>) {
  const asked: { readonly url: string; readonly referrer: string | undefined }[] = [];
  const server = createServer((req, res) => {
    if (req.url !== '/favicon.ico') asked.push({ url: req.url ?? '', referrer: req.headers.referer });
    res.setHeader('content-type', 'text/html');
    res.end('<!doctype html><html lang="en"><title>Customer</title><h1>Customer</h1>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { asked, url: `http://localhost:${(server.address() as AddressInfo).port}` };
}
