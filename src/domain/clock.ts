export interface Clock {
  /** Returns ms since epoch. */
  now(): number;
}

export interface IdSource {
  /** Ids sort by the time at which they were generated. */
  next(): string;
}
