import type { Finding } from './checks.ts';

/** A line of a worker process. */
export interface Telling {
  readonly type:
    | 'started'
    | 'turn_claimed'
    | 'turn_suspended'
    | 'turn_settled'
    | 'lease_lost'
    | 'worker_failed'
    | 'pass_ended';
  /** ms since epoch */
  readonly at: number;
  /** conversation and turn */
  readonly key?: string;
  /** of a lost lease */
  readonly why?: string;
  /** of a pass */
  readonly outcome?: string;
  readonly reasons?: readonly string[];
}

/** ms from a kill to the next claim of a turn that died with it. */
export interface Recoveries {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

interface Claim {
  readonly worker: number;
  /** how it ended, as far as that is known: each of these is harm, but `failed` */
  end: 'unknown' | 'killed' | 'lost' | 'failed';
}

/** What the workers said of themselves: how long a killed one's turns stood still, and who was told wrongly that it had lost. */
export class Tellings {
  /** ended passes by outcome */
  readonly passes: Record<string, number> = {};
  /** of these, those for which a turn waited */
  hardPasses = 0;
  /** ms since epoch, when a worker last said anything */
  heardAt = Date.now();
  readonly #holders = new Map<string, number>();
  readonly #orphans = new Map<string, number>();
  readonly #recoveries: number[] = [];
  /** by turn, its claims in order */
  readonly #claims = new Map<string, Claim[]>();
  readonly #fenced = new Set<string>();

  /** @param worker a number that no other process of the run has */
  hear(worker: number, { type, at, key = '', why, outcome = '', reasons = [] }: Telling): void {
    this.heardAt = Date.now();
    switch (type) {
      case 'turn_claimed': {
        const killedAt = this.#orphans.get(key);
        if (killedAt !== undefined) this.#recoveries.push(at - killedAt);
        this.#orphans.delete(key);
        this.#holders.set(key, worker);
        this.#claims.set(key, [...(this.#claims.get(key) ?? []), { worker, end: 'unknown' }]);
        return;
      }
      case 'turn_suspended':
      case 'turn_settled':
      case 'lease_lost':
        if (why === 'fenced') this.#fenced.add(key);
        if (type === 'lease_lost') this.#noteEnd(key, worker, 'lost');
        if (this.#holders.get(key) === worker) this.#holders.delete(key);
        return;
      case 'worker_failed':
        this.#noteEnd(key, worker, 'failed');
        return;
      case 'pass_ended':
        this.passes[outcome] = (this.passes[outcome] ?? 0) + 1;
        if (reasons.includes('hard_limit') || reasons.includes('overflow')) this.hardPasses += 1;
        return;
      case 'started':
    }
  }

  /** All that the worker said before has been heard. */
  noteDeath(worker: number, at: number): void {
    for (const [key, holder] of this.#holders) {
      if (holder !== worker) continue;
      this.#holders.delete(key);
      this.#orphans.set(key, at);
      this.#noteEnd(key, worker, 'killed');
    }
  }

  /** Whether harm ended each of the last claims of a turn. A worker that dies before it reports a claim leaves fewer claims here. */
  wereLastClaimsHarmed(key: string, count: number): boolean {
    return (this.#claims.get(key) ?? []).slice(-count).every(({ end }) => end === 'killed' || end === 'lost');
  }

  /** For people who read a finding. */
  describeClaims(key: string): string {
    return (this.#claims.get(key) ?? []).map(({ worker, end }) => `${worker} ${end}`).join(', ');
  }

  #noteEnd(key: string, worker: number, end: Claim['end']): void {
    const claim = this.#claims.get(key)?.findLast((one) => one.worker === worker);
    if (claim !== undefined) claim.end = end;
  }

  get recoveries(): Recoveries {
    const sorted = this.#recoveries.toSorted((a, b) => a - b);
    const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
    return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
  }

  /**
   * A settle that is sent again is answered like the first one (DESIGN §4, commit). Redis cannot show it: a worker that is told
   * wrongly that it was fenced walks away from a turn that it has settled itself. So it is read from what workers tell: a
   * completed turn that was claimed once was settled by that claim, and nobody can have fenced it.
   */
  *findFalseLosses(completed: ReadonlySet<string>): Iterable<Finding> {
    for (const key of this.#fenced) {
      if (this.#claims.get(key)?.length !== 1 || !completed.has(key)) continue;
      const [conversation = '', turn = ''] = key.split('/');
      const detail = `${turn} is completed, claimed once, and its worker was told that it was fenced`;
      yield { rule: 'who settled a turn is told so', conversation, detail };
    }
  }
}
