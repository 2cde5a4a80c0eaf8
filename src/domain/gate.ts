import { z } from 'zod';

/**
 * The gate of a model: a pause and a rate that all workers obey together. Nothing is written to Redis for a model
 * without limits here whose provider refuses no call and whose account has calls left.
 */
export const gateSettingsSchema = z.strictObject({
  /**
   * Name of the gate, up to 200 characters. Models that share a limit of their account share a name. Default: the model and
   * a hash of its key. For a model of your own or of the AI SDK, whose key turnfold does not know: the model.
   */
  name: z.string().min(1).max(200).optional(),
  /** Maximum calls a minute, of all workers together. */
  requestsPerMinute: z.number().gt(0).max(1e9).optional(),
  /** Maximum input tokens a minute, of all workers together. */
  tokensPerMinute: z.number().gt(0).max(1e12).optional(),
  /** Maximum calls at the same time, of all workers together. */
  concurrent: z.number().int().min(1).max(1e6).optional(),
});

export type GateSettings = Readonly<z.infer<typeof gateSettingsSchema>>;

/** A model with the id and the settings of its gate. */
export interface GatedModel {
  readonly profile: { readonly id: string };
  /** Settings of its gate. Absent: a gate without limits of its own, by the model's id. */
  readonly gate?: GateSettings;
}

export interface GatedRequest {
  /** Input tokens of the call. */
  readonly tokens: number;
  /** Aborts when the answer is no longer needed. */
  readonly signal: AbortSignal;
}

/** An answer or a compaction of a model, as far as a gate reads it. */
export interface GatedAnswer {
  /** ms since epoch before which the provider would refuse the next call. Absent: it gave no such time. */
  readonly nextCallAt?: number | undefined;
}

/** Lets the calls of one turn or summary through the gates of their models. */
export interface ModelGate {
  /**
   * Makes a call when the gate of the model lets it through.
   * @throws HeldCall if the call has to wait for seconds, or if the provider refused it because of a limit. The signal's
   * reason if the signal ends a short wait.
   */
  pass<Answer extends GatedAnswer>(
    model: GatedModel,
    request: GatedRequest,
    call: () => Promise<Answer>,
  ): Promise<Answer>;
}
