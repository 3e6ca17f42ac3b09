/** Both sides of every rule of TopUp. */
import test from 'ava';
import { topUpKind } from '../../../src/kinds/topup/index.js';
import { holdRules } from './table.js';

holdRules(test, {
  kind: topUpKind,
  least: { amountUSD: '20.00' },
  defaults: [
    ['spec.origin', undefined],
    ['spec.savePaymentMethod', undefined],
  ],
  limits: [
    { rule: 'the amount is required', within: [], beyond: [['spec.amountUSD', undefined]] },
    { rule: 'at least 5.00', within: [['spec.amountUSD', '5.00']], beyond: [['spec.amountUSD', '4.99']] },
    { rule: 'at most 1000.00', within: [['spec.amountUSD', '1000.00']], beyond: [['spec.amountUSD', '1000.01']] },
    { rule: 'whole cents', within: [['spec.amountUSD', '5.01']], beyond: [['spec.amountUSD', '5.001']] },
    {
      rule: 'it is paid on a page, or by the service with the saved card',
      within: [['spec.origin', 'Checkout']],
      beyond: [['spec.origin', 'Invoice']],
    },
    {
      rule: 'the browser comes back to an https page',
      within: [['spec.successURL', 'https://console.example.com/paid']],
      beyond: [['spec.successURL', 'ftp://console.example.com/paid']],
    },
    {
      rule: 'plain http is for this machine only',
      within: [['spec.successURL', 'http://localhost:4000/paid']],
      beyond: [['spec.successURL', 'http://console.example.com/paid']],
    },
    {
      rule: 'the same holds when the payment is given up',
      within: [['spec.cancelURL', 'http://[::1]:4000/']],
      beyond: [['spec.cancelURL', 'http://10.0.0.1/']],
    },
    {
      rule: 'saving the card is a yes or no',
      within: [['spec.savePaymentMethod', true]],
      beyond: [['spec.savePaymentMethod', 'yes']],
    },
  ],
  immutable: [
    ['spec.amountUSD', '20.00', '30.00'],
    ['spec.savePaymentMethod', false, true],
  ],
  mutable: [],
  raiseOnly: [],
});
