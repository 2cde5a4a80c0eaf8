/** Clock of a process. Passed in as a dependency, so that tests are repeatable. */
export interface Clock {
  /** Returns ms since epoch. */
  now(): number;
}

/** Generates ids. Passed in as a dependency, so that tests are repeatable. */
export interface IdSource {
  /** Returns a new id. Ids sort by the time at which they were generated. */
  next(): string;
}
