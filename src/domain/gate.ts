import { z } from 'zod';

/** Name and limits of the gate of a model. All workers share the gate, which delays calls. */
export const gateSettingsSchema = z.strictObject({
  /** Models under one provider limit must use the same name. Default: the model's id, with a hash of its API key. */
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
   * Makes the call when the gate lets it through.
   * @throws HeldCall if the call must wait for seconds, or was refused because of a limit
   */
  pass<Answer extends GatedAnswer>(
    model: GatedModel,
    request: GatedRequest,
    call: () => Promise<Answer>,
  ): Promise<Answer>;
}
