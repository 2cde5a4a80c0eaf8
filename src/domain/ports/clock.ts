/** Time and ids, so that what decides can be run again the same. */
export interface Clock {
  /** ms since epoch */
  now(): number;
}

export interface IdSource {
  /** a fresh, sortable id */
  next(): string;
}
