export const DATABASE_LOSSES = ['empty', 'older', 'another'] as const;

/** Redis holds another database than the process knew. */
export interface DatabaseLoss {
  /**
   * - `empty`: Redis lost its data, or the address leads to another Redis.
   * - `older`: the latest writes are missing, e.g. after a restore or a failover.
   * - `another`: a database with another id.
   */
  readonly found: (typeof DATABASE_LOSSES)[number];
  /** Time at which a process first noticed that Redis had lost data, in ms since epoch, by the clock of Redis. */
  readonly at: number;
  /** Id of the database that the process knew. */
  readonly formerId: string;
  /** About how many ms of writes are lost. Only for an older database. */
  readonly behindMs?: number;
}

export function describeLoss({ found, behindMs = 0 }: DatabaseLoss): string {
  if (found === 'empty') {
    return 'the database is empty: Redis lost its data, or the address leads to another Redis. Earlier conversations and turns are gone';
  }
  if (found === 'another') {
    return 'the database is another one: the address leads to another Redis, or its data was replaced. Earlier conversations and turns are not in it';
  }
  return `the database is older than before: Redis came back without about the last ${Math.ceil(behindMs / 1_000)} s of its writes`;
}
