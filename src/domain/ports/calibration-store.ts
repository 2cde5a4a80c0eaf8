/**
 * Stores a correction factor for each model, learned over all conversations: the provider's token count divided by
 * turnfold's.
 */
export interface CalibrationStore {
  /** Returns the factors of all models that have one, by model id. */
  readCalibrations(): Promise<ReadonlyMap<string, number>>;
  /**
   * Moves a model's factor towards a newly observed ratio. At first the factor is the mean of all ratios. Later it
   * moves by a twentieth of the difference.
   * @returns the new factor
   */
  observeCalibration(model: string, ratio: number): Promise<number>;
}
