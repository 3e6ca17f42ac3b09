/**
 * Every setting of the service: its name, unit, default, consequence and schema, in one table. It is the documentation
 * (`npm start -- --settings` and `ops/README.md` print it) and what reads them (`config.ts`) at once: a new setting is one more entry.
 */
import { z } from 'zod';
import { BRAND, DEFAULT_API_GROUP } from './brand.js';
import {
  bytes,
  compute,
  dnsName,
  listenerPort,
  mailAddress,
  images,
  integer,
  masterKeys,
  milliCpu,
  origin,
  path,
  ranges,
  registries,
  smtpServer,
  toolDomain,
  url,
  usd,
  walletMode,
} from './config-values.js';

export interface Setting<T> {
  /** Environment variable. */
  readonly env: string;
  /** Shown beside the default: seconds, bytes, objects, path, … */
  readonly unit: string;
  /** As it would be written in the environment; undefined: unset. */
  readonly default: string | undefined;
  /** What it does and what a change of it costs. */
  readonly about: string;
  readonly schema: z.ZodType<T, string | undefined>;
  readonly secret: boolean;
}

const setting = <T>(
  env: string,
  unit: string,
  fallback: string | undefined,
  schema: z.ZodType<T, string | undefined>,
  about: string,
): Setting<T> => ({ env, unit, default: fallback, about, schema, secret: false });

const secret = <T>(entry: Setting<T>): Setting<T> => ({ ...entry, secret: true });

export const SETTINGS = {
  dataDir: setting(
    'TROUPE_DATA_DIR',
    'path',
    '.data',
    path,
    'Where everything lives that must survive: the embedded Postgres, blobs, logs of work, keys, certificates. Back it up as one.',
  ),
  apiGroup: setting(
    'TROUPE_API_GROUP',
    'DNS name',
    DEFAULT_API_GROUP,
    dnsName,
    'API group of every kind. Part of each stored object: choose it before the first start and never change it.',
  ),
  host: setting(
    'HOST',
    'address',
    '127.0.0.1',
    z.string().min(1),
    'Address to listen on. With anything but loopback, API keys cross the network: use the TLS port then.',
  ),
  port: setting('PORT', 'port', '8080', integer(0, 65535), 'Port for HTTP; 0 takes any free one.'),
  tlsPort: setting(
    'TROUPE_TLS_PORT',
    'port',
    '8443',
    listenerPort('TLS'),
    'Port for HTTPS; 0 turns TLS off, `any` takes any free one. kubectl needs it: it sends no token over plain HTTP.',
  ),
  tlsCert: setting(
    'TROUPE_TLS_CERT',
    'path',
    undefined,
    path.optional(),
    'Own server certificate (PEM, with its chain). Unset: one is made and renewed from a CA of its own in the data directory.',
  ),
  tlsKey: setting('TROUPE_TLS_KEY', 'path', undefined, path.optional(), 'Private key (PEM) of TROUPE_TLS_CERT.'),
  sshPort: setting(
    'TROUPE_SSH_PORT',
    'port',
    '2222',
    listenerPort('SSH'),
    'Port on HOST for SSH into Workspaces; 0 closes it, `any` takes any free one. Only public keys that a Workspace or a member of its org names open it. When the default port is taken, any free one is used; another one that is taken stays closed. The log and each Workspace say so.',
  ),
  publicUrl: setting(
    'TROUPE_PUBLIC_URL',
    'URL',
    undefined,
    origin('https', 'http').optional(),
    'How people elsewhere reach this service, as `https://troupe.example.com`: for a HOST of all interfaces, or behind a proxy (which has to pass the Host header on). Stands in `status.connect` of Workspaces, in links and in answers; its host also in SSH commands and in the certificate that is made. Unset: as this machine reaches it, and links as their request came.',
  ),
  toolDomain: setting(
    'TROUPE_TOOL_DOMAIN',
    'DNS name',
    undefined,
    toolDomain.optional(),
    'Gives the browser tools of each Workspace an origin of their own, `<uid>.` in front of this name, so that a hostile page in one reaches nothing of another. Every such name (`*.` in DNS) has to lead to this service, and TROUPE_TLS_CERT, where it is set, has to cover them. `localhost` does over HTTP for most browsers on this machine. Unset: all tools share the origin of the service.',
  ),
  databaseUrl: secret(
    setting(
      'DATABASE_URL',
      'URL',
      undefined,
      url('postgres', 'postgresql').optional(),
      'Postgres 15 or newer to use. Unset: an embedded one is started in the data directory.',
    ),
  ),
  databaseReaders: setting(
    'TROUPE_DATABASE_READERS',
    'connections',
    '8',
    integer(1, 1000),
    'Connections to Postgres for reads that the cache cannot answer; writes, the lease and timers have their own.',
  ),
  redisUrl: secret(
    setting(
      'REDIS_URL',
      'URL',
      undefined,
      url('redis', 'rediss').optional(),
      'Redis for queues and timers. Unset: they run on Postgres. Nothing is lost when it is emptied.',
    ),
  ),
  masterKeys: secret(
    setting(
      'TROUPE_MASTER_KEY',
      'base64, commas',
      undefined,
      masterKeys.optional(),
      '32 bytes that wrap the keys of all secrets. Unset: made once into `master.key` (0600) in the data directory. Without it no secret can be read. To rotate it, put the new key in front of the old one, separated by a comma: the first seals, all of them open. The next start wraps all secrets anew; the old key may go a day later, when no Idempotency-Key needs it any more.',
    ),
  ),
  compute: setting(
    'TROUPE_COMPUTE',
    'auto, namespaces, docker, off',
    'auto',
    compute,
    'What runs work: Linux namespaces on this machine, containers of a Docker or Podman daemon, or nothing (`off`: Jobs wait). `auto` takes namespaces.',
  ),
  dockerHost: setting(
    'DOCKER_HOST',
    'URL',
    undefined,
    z
      .string()
      .regex(/^(unix:\/\/\/|tcp:\/\/|https?:\/\/)\S+$/, 'must be unix:///path, tcp://host:port or http://host:port')
      .optional(),
    'Where the daemon listens for TROUPE_COMPUTE=docker. Unset: unix:///var/run/docker.sock. Who may talk to it owns its machine.',
  ),
  dockerImages: setting(
    'TROUPE_DOCKER_IMAGES',
    'names=images, commas',
    `${BRAND}/agent-tools=buildpack-deps:bookworm,${BRAND}/workspace-cpu=buildpack-deps:bookworm`,
    images,
    'Images of the daemon that stand for those of the catalog. One that it does not have is pulled; work on a name that is not here fails to start.',
  ),
  dockerRegistries: setting(
    'TROUPE_DOCKER_REGISTRIES',
    'hosts, commas',
    undefined,
    registries.optional(),
    'Registries of your own, `host` or `host:port`, from which images are pulled though they are at special addresses (loopback, private ones), or where only the daemon can look them up. Unset: none but those on the public internet.',
  ),
  spareBoxes: setting(
    'TROUPE_SPARE_BOXES',
    'boxes',
    '128',
    integer(0, 1024),
    'Most boxes that the embedded engine keeps ready for Sandboxes and Workspaces, two for each start of the last hour, none before the second. Each costs a MB and a half, all together at most a hundredth of the memory, and at most 64 for each processor (8 where the service does not run as root). 0: each is made when it is asked for.',
  ),
  nodeCpu: setting(
    'TROUPE_NODE_CPU',
    'CPUs',
    undefined,
    milliCpu.optional(),
    'CPUs of this machine that work may use, such as 1.5 or 500m. Unset: all of them.',
  ),
  nodeMemory: setting(
    'TROUPE_NODE_MEMORY',
    'bytes',
    undefined,
    bytes(64 * 2 ** 20).optional(),
    'Memory that work may use. Unset: what the machine has, less what the service needs.',
  ),
  nodeDisk: setting(
    'TROUPE_NODE_DISK',
    'bytes',
    undefined,
    bytes(64 * 2 ** 20).optional(),
    'Disk that work may use. Unset: what is free beside the data directory, less a reserve.',
  ),
  runnerDir: setting(
    'TROUPE_RUNNER_DIR',
    'path',
    undefined,
    path.optional(),
    'Scratch, logs and journal of running work. Unset: `runner` in the data directory.',
  ),
  egressAllow: setting(
    'TROUPE_EGRESS_ALLOW',
    'ranges, commas',
    undefined,
    ranges.optional(),
    'Addresses and ranges outside the public internet that work may reach where its network policy lets it, such as 10.1.0.0/16. Unset: none. All work of all orgs can then reach what is there.',
  ),
  blobDir: setting(
    'TROUPE_BLOB_DIR',
    'path',
    undefined,
    path.optional(),
    'Blobs, by their SHA-256. Unset: `blobs` in the data directory.',
  ),
  catalogDir: setting(
    'TROUPE_CATALOG_DIR',
    'path',
    undefined,
    path.optional(),
    "Files of the catalogs that every org sees (models, images, …). Unset: the program's own. Read at the start and again on SIGHUP.",
  ),
  priceBook: setting(
    'TROUPE_PRICEBOOK',
    'path',
    undefined,
    path.optional(),
    "File of the price book: what capacity, storage, image builds and models cost. Unset: the program's own (`ops/catalog/pricebook.yaml`). Read at the start and again on SIGHUP; other prices need another `pricebookVersion`. What is admitted keeps its price.",
  ),
  wallet: setting(
    'TROUPE_WALLET',
    'Unlimited, Prepaid',
    'Unlimited',
    walletMode,
    'Unlimited: every cost is recorded and Budgets bind, but the wallet refuses nothing and owes nothing. Prepaid: what work holds has to be in the wallet of its org; what is refused is 402, and running work ends gracefully. Credits cannot be bought yet: an org has those that it was given (`TROUPE_BOOTSTRAP_CREDITS`), and one without them runs only what is free. It may be changed at any start: what was used as Unlimited is never owed.',
  ),
  bootstrapCredits: setting(
    'TROUPE_BOOTSTRAP_CREDITS',
    'USD',
    '100.00',
    usd,
    'Credits that the first org is given, once, at the first start; 0 gives none. What is given stays when this changes.',
  ),
  catalogUnusable: setting(
    'TROUPE_CATALOG_UNUSABLE',
    'hide, list',
    'hide',
    z.enum(['hide', 'list']),
    'What becomes of catalog entries that nothing here can serve, such as GPU classes without an engine and models without an upstream: they are left out, or listed as unavailable.',
  ),
  diskReserve: setting(
    'TROUPE_DISK_RESERVE',
    'bytes',
    '512Mi',
    bytes(2 ** 20),
    'Free space of the disks of the data directory and the blobs below which new objects and uploads are refused with 503, and Attempts that have not begun wait, before a full disk stops Postgres. They are taken again, and begin, by themselves once a quarter more is free. What runs goes on. What ends while there is no room at all has not ended before its log and outputs are kept, or 15 minutes later without them, which condition OutputsCollected of the Job says; files of a Sandbox or Workspace are waited for without end.',
  ),
  blobKeepSeconds: setting(
    'TROUPE_BLOB_KEEP_SECONDS',
    'seconds',
    '86400',
    integer(60, 31_536_000),
    'How long a blob lives that no object refers to.',
  ),
  logLevel: setting(
    'TROUPE_LOG_LEVEL',
    'level',
    'info',
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace'], 'must be fatal, error, warn, info, debug or trace'),
    'Least level that is logged. Requests are counted at /metrics, and logged by TROUPE_ACCESS_LOG.',
  ),
  accessLog: setting(
    'TROUPE_ACCESS_LOG',
    'on, off',
    'off',
    z.enum(['on', 'off'], 'must be on or off'),
    'Logs a line for each answered request, with its path but not its query. Costs about a third of the reads a second.',
  ),
  metrics: setting(
    'TROUPE_METRICS',
    'auto, open, key',
    'auto',
    z.enum(['auto', 'open', 'key'], 'must be auto, open or key'),
    'Who may read /metrics: everybody who reaches it (`open`), or operators by their key (`key`). `auto` is open on loopback without TROUPE_PUBLIC_URL, and key elsewhere.',
  ),
  watchHistorySeconds: setting(
    'TROUPE_WATCH_HISTORY_SECONDS',
    'seconds',
    '3600',
    integer(10, 604_800),
    'How far back a watch can resume and a list can be paged. Older versions answer 410 Expired.',
  ),
  watchHistoryBytes: setting(
    'TROUPE_WATCH_HISTORY_BYTES',
    'bytes',
    '4Gi',
    bytes(2 ** 20),
    'Size of that history at most; whichever bound is reached first counts.',
  ),
  ledgerAuditSeconds: setting(
    'TROUPE_LEDGER_AUDIT_SECONDS',
    'seconds',
    '3600',
    integer(60, 604_800),
    'Pause between two audits of the ledger, which rebuild what is stored of money from its postings and say what differs (`/ops/v1/ledger`, `/readyz`, the log). Shorter finds a fault sooner, and reads the whole ledger more often over one connection.',
  ),
  cacheBytes: setting(
    'TROUPE_CACHE_BYTES',
    'bytes',
    '256Mi',
    bytes(2 ** 20),
    'Current objects kept in memory. What does not fit is read from Postgres again (about 1 ms).',
  ),
  leaseSeconds: setting(
    'TROUPE_LEASE_SECONDS',
    'seconds',
    '5',
    integer(1, 300),
    'How long a silent process keeps the right to write. A standby takes over after at most twice this.',
  ),
  drainSeconds: setting(
    'TROUPE_DRAIN_SECONDS',
    'seconds',
    '25',
    integer(0, 3600),
    'How long SIGTERM waits for requests and commands under way. Running work is not touched.',
  ),
  passivationSeconds: setting(
    'TROUPE_PASSIVATION_SECONDS',
    'seconds',
    '60',
    integer(1, 86_400),
    'An object without messages for this long leaves memory; its next message loads it again.',
  ),
  mailboxMessages: setting(
    'TROUPE_MAILBOX_MESSAGES',
    'messages',
    '1000',
    integer(8, 1_000_000),
    'Messages that may wait for one object. A full mailbox answers 503 with Retry-After.',
  ),
  quotaObjects: setting(
    'TROUPE_QUOTA_OBJECTS',
    'objects',
    '200000',
    integer(1, 1_000_000_000),
    'Objects that one org may have; then QuotaExceeded.',
  ),
  quotaBytes: setting(
    'TROUPE_QUOTA_BYTES',
    'bytes',
    '100Gi',
    bytes(2 ** 20),
    'Bytes of blobs and outputs that one org may have; then QuotaExceeded.',
  ),
  bodyBytes: setting('TROUPE_BODY_BYTES', 'bytes', '3Mi', bytes(2 ** 16), 'Largest request body; a larger one is 413.'),
  requestSeconds: setting(
    'TROUPE_REQUEST_SECONDS',
    'seconds',
    '60',
    integer(1, 3600),
    'A request that is not a watch, a log or a transfer is answered within this, or 503.',
  ),
  inFlightRequests: setting(
    'TROUPE_IN_FLIGHT_REQUESTS',
    'requests',
    '2000',
    integer(16, 1_000_000),
    'Requests worked on at once, watches and requests whose body is still on its way apart; one more is 429 with Retry-After.',
  ),
  orgInFlightRequests: setting(
    'TROUPE_ORG_IN_FLIGHT_REQUESTS',
    'requests',
    '1500',
    integer(1, 1_000_000),
    'Of them, those of all keys of one org; so many more may wait for their bodies.',
  ),
  keyInFlightRequests: setting(
    'TROUPE_KEY_IN_FLIGHT_REQUESTS',
    'requests',
    '1000',
    integer(1, 1_000_000),
    'Of them, those of one API key or token; so many more may wait for their bodies.',
  ),
  bodyMemoryBytes: setting(
    'TROUPE_BODY_MEMORY_BYTES',
    'bytes',
    '512Mi',
    bytes(64 * 2 ** 20),
    'Request bodies held in memory at once, half of it at most for one org; more are 429 with Retry-After.',
  ),
  watchers: setting(
    'TROUPE_WATCHERS',
    'streams',
    '20000',
    integer(1, 1_000_000),
    'Watches and log streams open at once (10 to 20 KB each), half of them at most for one org; one more is 429.',
  ),
  keyWatchers: setting(
    'TROUPE_KEY_WATCHERS',
    'streams',
    '2000',
    integer(1, 1_000_000),
    'Of them, those of one API key or token; one more is 429.',
  ),
  keyRequestsPerSecond: setting(
    'TROUPE_KEY_REQUESTS_PER_SECOND',
    'requests/s',
    '2000',
    integer(1, 10_000_000),
    'Requests of one API key or token. A quiet one saves up ten seconds of it; beyond that the answer is 429 with Retry-After.',
  ),
  orgRequestsPerSecond: setting(
    'TROUPE_ORG_REQUESTS_PER_SECOND',
    'requests/s',
    '6000',
    integer(1, 10_000_000),
    'Requests of all keys of one org together, in the same way.',
  ),
  addressRequestsPerSecond: setting(
    'TROUPE_ADDRESS_REQUESTS_PER_SECOND',
    'requests/s',
    '200',
    integer(1, 10_000_000),
    'Requests of one client address (of IPv6: a /64) without a key that is known, in the same way; health is not counted. Behind a proxy all clients share its address: set it higher.',
  ),
  webhookCa: setting(
    'TROUPE_WEBHOOK_CA',
    'path',
    undefined,
    path.optional(),
    'Certificates (PEM) of authorities that receivers of webhooks may have theirs from, beside the usual ones.',
  ),
  webhookAllow: setting(
    'TROUPE_WEBHOOK_ALLOW',
    'ranges, commas',
    undefined,
    ranges.optional(),
    'Addresses and ranges outside the public internet that webhooks may be sent to, such as 10.1.0.0/16. Unset: none. Whoever may make a WebhookEndpoint can then make this service call what is there.',
  ),
  smtpUrl: secret(
    setting(
      'TROUPE_SMTP_URL',
      'URL',
      undefined,
      smtpServer.optional(),
      'The mail server for notices of Budgets: `smtps://user:password@mail.example.com` (port 465), or `smtp://user:password@mail.example.com` (587, with STARTTLS), percent-encoded. Without TLS only with `?tls=off`, and then a password only to this machine. Authorities of its certificate beside the usual ones: NODE_EXTRA_CA_CERTS. Unset: notices are events only, and Budgets that name recipients say so; those of that time are not mailed later.',
    ),
  ),
  smtpFrom: setting(
    'TROUPE_SMTP_FROM',
    'address',
    undefined,
    mailAddress.optional(),
    'Sender of these mails, which the mail server must accept, such as budgets@example.com. Set it together with TROUPE_SMTP_URL.',
  ),
} satisfies Readonly<Record<string, Setting<unknown>>>;
