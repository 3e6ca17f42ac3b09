/** Where the Wallet of an org stands: there is one, which is made with the org and never goes. */
export const WALLET_ADDRESS = { kind: 'Wallet', project: '', name: 'wallet' } as const;
