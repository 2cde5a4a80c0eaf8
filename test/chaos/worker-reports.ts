import { TURN_LIMITS } from '../../src/domain/turn.ts';
import type { Finding } from './checks.ts';

/** A line that a worker process prints. */
export interface WorkerReport {
  readonly type:
    | 'started'
    | 'turn_claimed'
    | 'turn_suspended'
    | 'turn_settled'
    | 'lease_returned'
    | 'lease_lost'
    | 'worker_failed'
    | 'pass_ended'
    | 'worker_lost';
  /** Milliseconds since epoch. */
  readonly at: number;
  /** `conversation/turn` */
  readonly key?: string;
  /** Reason of a lost lease. */
  readonly why?: string;
  readonly outcome?: string;
  /** Reasons of a pass. */
  readonly reasons?: readonly string[];
  /** Start of the process, in ms since epoch. */
  readonly beganAt?: number;
  /** Roles of the process that started, or of the lost worker. */
  readonly roles?: readonly string[];
  /** Name of the lost worker: a ULID from the start of its process. */
  readonly name?: string;
}

/** Milliseconds from the kill of a worker to what came of it. */
export interface Recoveries {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** End of a claim by the report that shows the end. */
const ENDS = {
  turn_suspended: 'left',
  turn_settled: 'left',
  lease_returned: 'returned',
  lease_lost: 'lost',
  worker_failed: 'failed',
} as const;

interface Start {
  readonly worker: number;
  readonly roles: readonly string[];
  /** Both in ms since epoch. */
  readonly from: number;
  readonly to: number;
}

interface Claim {
  readonly worker: number;
  /** Time of the report in ms since epoch. */
  readonly at: number;
  /**
   * `killed` and `lost` are consequences of an injected fault. `left` and `failed` are not: the turn was settled or suspended, or
   * the worker had an unexpected error. `returned` is no attempt: the worker gave the turn back. A claim that ended by an outage of
   * Redis is `unreported`. So is one whose worker lost its lease without noticing, and was killed later.
   */
  end: 'unreported' | 'killed' | 'lost' | 'returned' | 'left' | 'failed';
}

/** Collects what workers report: claims, losses and passes. */
export class WorkerReports {
  /** Ended passes by outcome. */
  readonly passes: Record<string, number> = {};
  /** Number of passes for which a turn waited. */
  hardPasses = 0;
  /** Time of the last report, in ms since epoch. */
  lastAt = Date.now();
  /** Turns whose worker was killed, and the time of the kill in ms since epoch. */
  readonly #orphans = new Map<string, number>();
  readonly #recoveries: number[] = [];
  readonly #starts: Start[] = [];
  /** Times of the deaths of workers, in ms since epoch. */
  readonly #deaths = new Map<number, number>();
  /** Reports that took a worker for dead, in ms since epoch. */
  readonly #noticed: { readonly worker: number; readonly at: number }[] = [];
  /** Claims of each turn, oldest first. */
  readonly #claims = new Map<string, Claim[]>();
  /** Turns whose worker was fenced, and the time of the last report in ms since epoch. */
  readonly #fenced = new Map<string, number>();
  readonly #faults: { readonly from: number; readonly to: number }[] = [];

  /** @param worker number of the process, unique in the run */
  add(worker: number, report: WorkerReport): void {
    const { type, at, key = '', why, outcome = '', reasons = [], roles = [] } = report;
    this.lastAt = Date.now();
    switch (type) {
      case 'turn_claimed': {
        const killedAt = this.#orphans.get(key);
        if (killedAt !== undefined) this.#recoveries.push(at - killedAt);
        this.#orphans.delete(key);
        this.#claims.set(key, [...(this.#claims.get(key) ?? []), { worker, at, end: 'unreported' }]);
        return;
      }
      case 'turn_suspended':
      case 'turn_settled':
      case 'lease_returned':
      case 'lease_lost':
      case 'worker_failed':
        if (why === 'fenced') this.#fenced.set(key, at);
        this.#noteEnd(key, worker, ENDS[type]);
        return;
      case 'pass_ended':
        this.passes[outcome] = (this.passes[outcome] ?? 0) + 1;
        if (reasons.includes('hard_limit') || reasons.includes('overflow')) this.hardPasses += 1;
        return;
      case 'worker_lost':
        this.#noteNotice(report);
        return;
      case 'started':
        this.#starts.push({ worker, roles, from: report.beganAt ?? at, to: at });
    }
  }

  /** Call after the last report of the worker was added. */
  noteDeath(worker: number, at: number): void {
    this.#deaths.set(worker, at);
    for (const [key, claims] of this.#claims) {
      const last = claims.at(-1);
      if (last?.worker !== worker || last.end !== 'unreported') continue;
      last.end = 'killed';
      this.#orphans.set(key, at);
    }
  }

  /** Adds a fault that was injected between two times, in ms since epoch. It may end claims without a report. */
  noteFault(from: number, to: number): void {
    this.#faults.push({ from, to });
  }

  /**
   * True if a fault ended each of the last `count` claims of a turn, or of those since it last ended well. A worker may die before
   * it reports a claim, so there can be fewer claims than `count`.
   */
  wereLastClaimsHarmed(key: string, count: number): boolean {
    const all = this.#claims.get(key) ?? [];
    const attempts = all
      .slice(all.findLastIndex(({ end }) => end === 'left') + 1)
      .filter(({ end }) => end !== 'returned');
    return attempts.slice(-count).every((claim) => {
      if (claim.end === 'killed' || claim.end === 'lost') return true;
      const until = all[all.indexOf(claim) + 1]?.at ?? this.lastAt;
      return claim.end === 'unreported' && this.#faults.some(({ from, to }) => from <= until && to >= claim.at);
    });
  }

  describeClaims(key: string): string {
    return (this.#claims.get(key) ?? []).map(({ worker, end }) => `worker ${worker} ${end}`).join(', ');
  }

  /** A worker can claim a turn again before the worker notices that its lease was lost. So a loss ends the older claim. */
  #noteEnd(key: string, worker: number, end: Claim['end']): void {
    const open = this.#claims.get(key)?.filter((claim) => claim.worker === worker && claim.end === 'unreported') ?? [];
    const claim = end === 'lost' ? open[0] : open.at(-1);
    if (claim !== undefined) claim.end = end;
  }

  /**
   * A worker chooses its name during the start of its process. Only workers of one place have the same roles if there
   * are at most four places, and their starts do not overlap.
   */
  #noteNotice({ at, name = '', roles = [] }: WorkerReport): void {
    const namedAt = readUlidTime(name);
    const start = this.#starts.find(
      (known) => known.roles.join() === roles.join() && known.from <= namedAt && namedAt <= known.to,
    );
    if (start !== undefined) this.#noticed.push({ worker: start.worker, at });
  }

  /** From a kill to the next claim of each turn that the worker owned. */
  get recoveries(): Recoveries {
    return describe(this.#recoveries);
  }

  /** From a kill to its notice by another worker. A worker that was killed before it reported its start is not noticed. */
  get notices(): Recoveries {
    const times = [...this.#deaths].flatMap(([worker, diedAt]) => {
      const notice = this.#noticed.find((known) => known.worker === worker && known.at >= diedAt);
      return notice === undefined ? [] : [notice.at - diedAt];
    });
    return describe(times);
  }

  /** Number of times that a living worker was taken for dead. */
  get mistakenNotices(): number {
    return this.#noticed.filter(({ worker, at }) => at < (this.#deaths.get(worker) ?? Number.POSITIVE_INFINITY)).length;
  }

  /**
   * Finds workers that settled a turn and were wrongly fenced at the repeated settlement. Redis does not show this fault. A
   * completed turn with a single claim was settled by that claim, so no other owner can have fenced it. The store knows the last
   * settlement of a conversation. Another worker may settle the next turn once the lease of a frozen worker has lapsed.
   */
  *findFalseLosses(completed: ReadonlySet<string>): Iterable<Finding> {
    for (const [key, at] of this.#fenced) {
      const [claim, ...others] = this.#claims.get(key) ?? [];
      if (claim === undefined || others.length > 0 || !completed.has(key)) continue;
      if (at - claim.at >= TURN_LIMITS.leaseMs) continue;
      const [conversation = '', turn = ''] = key.split('/');
      const detail = `${turn} is completed after a single claim, but its worker was fenced`;
      yield { rule: 'a repeated settlement gets the first reply', conversation, detail };
    }
  }
}

const ULID_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_TIME_DIGITS = 10;

/** @returns ms since epoch */
function readUlidTime(ulid: string): number {
  const digits = ulid.slice(0, ULID_TIME_DIGITS).split('');
  return digits.reduce((time, digit) => time * 32 + ULID_DIGITS.indexOf(digit), 0);
}

function describe(times: readonly number[]): Recoveries {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}
