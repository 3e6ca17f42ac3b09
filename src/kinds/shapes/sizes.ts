/**
 * How many elements lists and maps of a spec may have, where the spec names no number for the kind itself. Every list and map that a
 * client writes has a bound: an object is read, checked, stored and sent to every watcher as a whole (I10).
 */

/** Variables of one environment. Source: spec, "Limits". */
export const MOST_ENV = 256;

/** Words of one command line. */
export const MOST_ARGUMENTS = 4096;

/** Names of other objects, and of regions, in one list. */
export const MOST_NAMES = 256;

/** Connections of work that may have many; a Workspace has at most 4. */
export const MOST_CONNECTIONS = 32;

export const MOST_INPUTS = 256;
export const MOST_SIDECARS = 32;
export const MOST_VOLUMES = 64;

/** Labels of one object, and labels that one selector names. */
export const MOST_LABELS = 1024;

/** Requirements of one selector, and values of one requirement. */
export const MOST_REQUIREMENTS = 64;
export const MOST_VALUES = 256;

/** Members of free JSON, which is bounded by its bytes as well. */
export const MOST_MEMBERS = 1024;
