/** How far our counts are off, per model, over all conversations: provider's figure ÷ ours. */
export interface CalibrationStore {
  /** model → factor, of every model that was observed */
  readCalibrations(): Promise<ReadonlyMap<string, number>>;
  /** Moves a model's factor towards a ratio: the mean of the first ones, then a twentieth each. @returns the factor */
  observeCalibration(model: string, ratio: number): Promise<number>;
}
