/** Owns what a Sandbox keeps beside its status. Plain JSON. */
import type { ApiObject } from '../../api/object.js';
import type { SingleAttemptPrivate } from '../single-attempt/state.js';
import type { SandboxSpec, SandboxStatus } from './schema.js';

export type Sandbox = ApiObject<SandboxSpec, SandboxStatus>;

/** An annotation that asks for something, until that is carried out. */
export interface Request {
  readonly value: string;
  /** Epoch at which it was asked. */
  readonly epoch: number;
}

export interface SandboxPrivate extends SingleAttemptPrivate {
  /** By annotation. */
  readonly requests: Readonly<Record<string, Request>>;
  /** Starting or stopping, since when, and whether it was told that this takes too long. */
  readonly turning?: { readonly phase: string; readonly since: number; readonly told: boolean } | undefined;
}

export const FRESH: SandboxPrivate = { epoch: 0, timers: {}, lost: 0, requests: {} };
