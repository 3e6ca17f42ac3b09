/** `spec.limits` of an InferenceEndpoint. */
export interface EndpointLimits {
  readonly maxConcurrent: number;
  readonly rpm: number;
  readonly tpm?: number | undefined;
}
