/**
 * How the shapes that kinds share name other objects: each answers the References of its own fields. `field` is
 * where the shape stands (`spec.env`). One missing object is one cause, with the path of the very field that names it.
 */
import { BRAND, CATALOG_PROJECT } from '../../brand.js';
import { isListedImage } from '../image/catalog.js';
import type { Reference } from '../kind.js';
import type { EnvVar, SecretMount, Sidecar } from './program.js';
import type { VolumeMount } from './files.js';

type References = readonly Reference[];

/** One name; none when it is unset. */
export function named(kind: string, field: string, name: string | undefined, reason?: string): References {
  if (name === undefined) return [];
  return [reason === undefined ? { field, kind, name } : { field, kind, name, reason }];
}

/** A list of names. */
export function allNamed(
  kind: string,
  field: string,
  names: readonly string[] | undefined,
  reason?: string,
): References {
  return (names ?? []).flatMap((name, index) => named(kind, `${field}[${index}]`, name, reason));
}

export function secretMounts(field: string, mounts: readonly SecretMount[] | undefined): References {
  return (mounts ?? []).flatMap(({ name }, index) => named('Secret', `${field}[${index}].name`, name));
}

export function envSecrets(field: string, env: readonly EnvVar[] | undefined): References {
  return (env ?? []).flatMap(({ valueFrom }, index) =>
    named('Secret', `${field}[${index}].valueFrom.secretKeyRef.name`, valueFrom?.secretKeyRef.name),
  );
}

export function sidecars(field: string, given: readonly Sidecar[] | undefined): References {
  return (given ?? []).flatMap(({ env, image: name }, index) => [
    ...envSecrets(`${field}[${index}].env`, env),
    ...image(`${field}[${index}].image`, name),
  ]);
}

export function volumeMounts(field: string, mounts: readonly VolumeMount[] | undefined): References {
  return (mounts ?? []).flatMap(({ volume }, index) => named('Volume', `${field}[${index}].volume`, volume));
}

/** A name of the catalog must be in it. Other images are a registry's, and known to be there when they are pulled. */
export function image(field: string, name: string | undefined): References {
  if (name === undefined || !name.startsWith(`${BRAND}/`) || isListedImage(name)) return [];
  const short = name.slice(BRAND.length + 1);
  return [{ field, kind: 'Image', project: CATALOG_PROJECT, name: short, reason: 'ImageNotFound' }];
}

/** An Image object of the project. */
export function imageRef(field: string, name: string | undefined): References {
  return named('Image', field, name, 'ImageNotFound');
}
