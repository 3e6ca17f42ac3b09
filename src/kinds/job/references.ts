/** What a Job names and must exist when it is admitted. */
import type { ApiObject } from '../../api/object.js';
import { databaseConnection, storeConnection } from '../connection/named.js';
import type { Reference } from '../kind.js';
import type { Input } from '../shapes/files.js';
import { allNamed, envSecrets, imageRef, named, secretMounts, sidecars, volumeMounts } from '../shapes/references.js';
import type { JobSpec } from './schema.js';

export function jobReferences({ spec }: ApiObject<JobSpec>): readonly Reference[] {
  return jobSpecReferences(spec, 'spec');
}

/** Also of a template: `at` is where the Job's spec stands, `spec.template.spec`. */
export function jobSpecReferences(spec: Partial<JobSpec>, at: string): readonly Reference[] {
  return [
    ...secretMounts(`${at}.secrets`, spec.secrets),
    ...envSecrets(`${at}.env`, spec.env),
    ...sidecars(`${at}.sidecars`, spec.sidecars),
    ...(spec.inputs ?? []).flatMap((input, index) => origin(`${at}.inputs[${index}]`, input)),
    ...(spec.outputs ?? []).flatMap(({ sink }, index) =>
      databaseConnection(`${at}.outputs[${index}].sink.connection`, sink?.connection),
    ),
    ...allNamed('Connection', `${at}.connections`, spec.connections),
    ...allNamed('Secret', `${at}.imagePullSecrets`, spec.imagePullSecrets),
    ...imageRef(`${at}.imageRef`, spec.imageRef),
    ...named('ServiceAccount', `${at}.serviceAccountName`, spec.serviceAccountName),
    ...volumeMounts(`${at}.volumes`, spec.volumes),
    ...named('Pool', `${at}.placement.pool`, spec.placement?.pool),
  ];
}

function origin(at: string, { volume, output, bucket, fromWorkspace }: Input): readonly Reference[] {
  return [
    ...named('Volume', `${at}.volume.name`, volume?.name),
    ...named('Job', `${at}.output.job`, output?.job),
    ...storeConnection(`${at}.bucket.connection`, bucket?.connection),
    ...named('Workspace', `${at}.fromWorkspace.name`, fromWorkspace?.name),
  ];
}
