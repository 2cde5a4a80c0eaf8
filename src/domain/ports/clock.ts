/** Time of a process. Injected, so that decisions can be repeated in tests. */
export interface Clock {
  /** Returns ms since epoch. */
  now(): number;
}

/** Source of ids. Injected, so that decisions can be repeated in tests. */
export interface IdSource {
  /** Returns a fresh id. Ids sort by their time. */
  next(): string;
}
