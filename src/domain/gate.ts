import { z } from 'zod';

/** A pause and a rate that all workers obey together for a model. */
export const gateSettingsSchema = z.strictObject({
  /**
   * Models that share a limit share a name. Default: the model with a hash of its key, or without if turnfold lacks the
   * key.
   */
  name: z.string().min(1).max(200).optional(),
  /** Limits are for all workers together. */
  requestsPerMinute: z.number().gt(0).max(1e9).optional(),
  /** Most input tokens a minute, of all workers together. */
  tokensPerMinute: z.number().gt(0).max(1e12).optional(),
  /** Most calls at the same time, of all workers together. */
  concurrent: z.number().int().min(1).max(1e6).optional(),
});

export type GateSettings = Readonly<z.infer<typeof gateSettingsSchema>>;

export interface GatedModel {
  readonly profile: { readonly id: string };
  /** Absent: a gate without limits of its own, by the model's id. */
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
   * @throws HeldCall if the call has to wait for seconds, or was refused because of a limit. The signal's reason if it
   * aborts.
   */
  pass<Answer extends GatedAnswer>(
    model: GatedModel,
    request: GatedRequest,
    call: () => Promise<Answer>,
  ): Promise<Answer>;
}
