/** The parts of an image's name: repository, tag and digest. `registry.ts` says which registry it means. */

/** Without tag and digest. */
export function repositoryOf(reference: string): string {
  return reference.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
}

/** Daemons leave out what names of one registry have in common, or do not. */
export function wholeName(repository: string): string {
  return repository.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, '');
}

/** Without a tag the daemon would pull all of them. */
export function withTag(reference: string): string {
  return /:[^/]+$|@/.test(reference) ? reference : `${reference}:latest`;
}
