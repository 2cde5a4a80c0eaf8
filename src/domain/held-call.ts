import type { ModelGate } from './gate.ts';
import { type Model, ModelError } from './model.ts';
import { brandErrors, hasBrand } from './thrown.ts';

/** A private symbol, not `Symbol.for`, so that no other module can forge a held call. */
const BRAND = Symbol('turnfold.HeldCall');

export class HeldCall extends ModelError {
  static {
    brandErrors(this, BRAND);
  }

  /** True if the provider refused the call. False if the gate did not let the call through. */
  readonly wasCalled: boolean;

  constructor(model: string, retryAt: number, refusal?: ModelError) {
    const message =
      refusal?.message ?? `model ${model}: calls are limited, and this one waits at the gate of the model`;
    super('retry', message, { retryAt, ...(refusal?.code !== undefined && { code: refusal.code }), cause: refusal });
    this.name = 'HeldCall';
    this.wasCalled = refusal !== undefined;
  }
}

export function isHeldCall(error: unknown): error is HeldCall {
  return hasBrand(error, BRAND);
}

export function isHeldBack(error: unknown): boolean {
  return isHeldCall(error) && !error.wasCalled;
}

/** A list of fallback models has no gate: each of its models has one. */
export function findGate(
  { gate }: { readonly gate?: ModelGate | undefined },
  { fallbacks }: Pick<Model, 'fallbacks'>,
): ModelGate | undefined {
  return fallbacks === undefined ? gate : undefined;
}
