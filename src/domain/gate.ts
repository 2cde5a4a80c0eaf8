/**
 * The gate of a model: a pause and a rate that all workers obey together. Nothing is written to Redis for a model
 * without limits here whose provider refuses no call.
 */
export interface GateSettings {
  /** Name of the gate. Models that share a limit of their account share a name. Default: the model and a hash of its key. */
  readonly name?: string | undefined;
  /** Maximum calls a minute, of all workers together. */
  readonly requestsPerMinute?: number | undefined;
  /** Maximum input tokens a minute, of all workers together. */
  readonly tokensPerMinute?: number | undefined;
  /** Maximum calls at the same time, of all workers together. */
  readonly concurrent?: number | undefined;
}

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

/** Lets the calls of one turn or summary through the gates of their models. */
export interface ModelGate {
  /**
   * Makes a call when the gate of the model lets it through.
   * @throws HeldCall if the call has to wait for seconds, or if the provider refused it because of a limit. The signal's
   * reason if the signal ends a short wait.
   */
  pass<Answer>(model: GatedModel, request: GatedRequest, call: () => Promise<Answer>): Promise<Answer>;
}
