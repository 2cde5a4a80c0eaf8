/** Calibration of our token counts per model, over all conversations: a provider's count ÷ our count. */
export interface CalibrationStore {
  /** Returns the factor of every model with an observation, by the model's id. */
  readCalibrations(): Promise<ReadonlyMap<string, number>>;
  /**
   * Moves a model's factor towards a ratio: first the mean of all ratios, later by a twentieth of the difference.
   * @returns the new factor
   */
  observeCalibration(model: string, ratio: number): Promise<number>;
}
