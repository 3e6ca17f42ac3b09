/**
 * The list of all plurals of the interface, also of kinds that are not built yet: scopes and roles are written in
 * them, and a key made today keeps its meaning when a kind arrives. `test/kinds/registry` holds the registry to it.
 * Source: spec, "Plurals and operations".
 */

/** Kinds that live in projects. */
export const PROJECT_PLURALS = [
  'agentgroups',
  'agentruns',
  'agents',
  'apps',
  'attempts',
  'connections',
  'enrollmenttokens',
  'environments',
  'functioncalls',
  'functions',
  'images',
  'inferenceendpoints',
  'jobs',
  'models',
  'pipelines',
  'poolactions',
  'pools',
  'sandboxes',
  'secrets',
  'serviceaccounts',
  'sweeps',
  'trainingjobs',
  'trainingruntimes',
  'volumes',
  'workspaces',
] as const;

/** Kinds at org level. `offerings` is a catalog for every org. */
export const ORG_PLURALS = [
  'apikeys',
  'budgets',
  'cloudaccounts',
  'creditgrants',
  'members',
  'namespaces',
  'nodes',
  'offerings',
  'topups',
  'webhookendpoints',
] as const;

/** Kinds that are the same for everybody, so a key that is held to some projects may read them at org level too. */
export const CATALOG_PLURALS: ReadonlySet<string> = new Set(['models', 'offerings']);
