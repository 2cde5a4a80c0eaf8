import { z } from 'zod';

/** Settings of a gate: the pause and the rate of one model, which all workers share. */
export const gateSettingsSchema = z.strictObject({
  /**
   * Name of the gate. Models under one provider limit must use the same name. Default: the model's id, with a hash of
   * its API key if turnfold has the key.
   */
  name: z.string().min(1).max(200).optional(),
  /** Maximum requests per minute of all workers together. */
  requestsPerMinute: z.number().gt(0).max(1e9).optional(),
  /** Maximum input tokens per minute of all workers together. */
  tokensPerMinute: z.number().gt(0).max(1e12).optional(),
  /** Maximum simultaneous calls of all workers together. */
  concurrent: z.number().int().min(1).max(1e6).optional(),
});

export type GateSettings = Readonly<z.infer<typeof gateSettingsSchema>>;

export interface GatedModel {
  readonly profile: { readonly id: string };
  /** Absent: the model's gate has no configured limits and is named by the model's id. */
  readonly gate?: GateSettings;
}

export interface GatedRequest {
  readonly tokens: number;
  /** Aborts when the answer is no longer needed. */
  readonly signal: AbortSignal;
}

export interface GatedAnswer {
  /** ms since epoch before which the provider would refuse the next call. */
  readonly nextCallAt?: number | undefined;
}

export interface ModelGate {
  /**
   * Makes the call when the gate lets the call through.
   * @throws HeldCall if the call has to wait for seconds, or was refused because of a limit. If the signal aborts, the
   * signal's reason.
   */
  pass<Answer extends GatedAnswer>(
    model: GatedModel,
    request: GatedRequest,
    call: () => Promise<Answer>,
  ): Promise<Answer>;
}
