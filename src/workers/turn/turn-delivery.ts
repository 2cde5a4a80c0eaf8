/**
 * A turn's way through a worker, from one wake to the next.
 *
 * ```
 * TurnDelivery.run        one wake: claims the first turn of the mailbox, and answers turns until its share is used
 *   answerClaimedTurn     one turn: opens it, runs it, and may request a pass behind it    answer-turn.ts
 *     runTurn             act, next state, act, until the end                              turn-machine.ts: the states
 *     endTurn             gives the lease back                                             turn-end.ts
 * ```
 *
 * The settlement of a turn claims the next turn, so a conversation with many turns needs no further wake. A delivery
 * answers at most 16 turns, and claims no turn after 2 s: one busy conversation must not occupy a worker.
 *
 * A suspect is a turn whose workers died twice. It runs in a process of its own, or else alone in this process, so that
 * a third crash harms no other work (I10).
 */

import { isTurnfoldError } from '../../domain/errors.ts';
import type { EventScope } from '../../domain/events.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import { isLost } from '../../domain/lease.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import type { Postponed, TurnDeliveryResult, TurnHandler } from '../../jobs/ports.ts';
import type { ClaimResult } from '../../store/turn-claims.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import { wakeUnlessFull } from '../deferred-write.ts';
import { enterSharedSlot, postpone, type SoloHold } from '../solo-lock.ts';
import { answerClaimedTurn, type OpenDelivery } from './answer-turn.ts';
import { ContextCache } from './context-cache.ts';
import { endTurn } from './turn-end.ts';
import { LostTurn, TurnGuard } from './turn-guard.ts';
import { TURN_SETTINGS, type TurnPorts, type TurnSettings } from './turn-ports.ts';
import { mustHandBack, type TurnEnd } from './turn-states.ts';

/** Thrown if an unexpected error ended the delivery of a turn. `cause` is that error. */
export class BrokenDelivery extends Error {
  readonly scope: EventScope;

  constructor(scope: EventScope, cause: unknown) {
    super('an unexpected error ended the delivery of a turn', { cause });
    this.name = 'BrokenDelivery';
    this.scope = scope;
  }
}

export function createTurnHandler(ports: TurnPorts): TurnHandler {
  return (conversation) => new TurnDelivery(ports, conversation).run();
}

/** Answers a suspect in its own process, for a parent that claimed it. @throws BrokenDelivery */
export async function answerSuspect(ports: TurnPorts, claimed: ClaimedTurn): Promise<TurnDeliveryResult> {
  const settings = { ...ports.settings, maxTurns: 1 };
  return await new TurnDelivery({ ...ports, settings, isWatched: true }, claimed.lease.conversation).run(claimed);
}

/** Delivers a wake, until the mailbox is empty, its first turn waits, or the delivery's share of turns is used up. */
export class TurnDelivery implements OpenDelivery {
  readonly ports: TurnPorts;
  readonly settings: TurnSettings;
  readonly #conversation: ConversationRef;
  readonly context: ContextCache;
  readonly #owner: string;
  readonly #startedAt: number;
  #claims = 0;
  hold: SoloHold | undefined;
  /**
   * Turn that killed its separate process during this delivery. It stays suspect, although progress in that process has
   * reset its attempts.
   */
  #killer: string | undefined;
  #postponed: Postponed | undefined;

  constructor(ports: TurnPorts, conversation: ConversationRef) {
    this.ports = ports;
    this.settings = { ...TURN_SETTINGS, ...ports.settings };
    this.#conversation = conversation;
    this.context = new ContextCache(ports.contexts, conversation);
    this.#owner = ports.owners.next();
    this.#startedAt = ports.clock.now();
  }

  /**
   * @param given a turn that another process has claimed for this delivery
   * @throws BrokenDelivery for an unexpected error. An outage of Redis is thrown unchanged
   */
  async run(given?: ClaimedTurn): Promise<TurnDeliveryResult> {
    const { ports } = this;
    this.hold = await enterSharedSlot(ports);
    if (this.hold === undefined) return postpone(ports);
    let turn = given;
    try {
      turn ??= await this.#claim();
      while (turn !== undefined) {
        this.#claims += 1;
        if (turn !== given) reportClaimed(ports, turn);
        turn = await this.#answer(turn);
      }
      return this.#postponed ?? { status: 'done' };
    } catch (error) {
      if (error instanceof LostTurn) return { status: 'lost' };
      if (isTurnfoldError(error, 'redis_unavailable')) throw error;
      throw new BrokenDelivery(
        { ...nameConversation(this.#conversation), ...(turn && { turn: turn.lease.turn }) },
        error,
      );
    } finally {
      this.hold?.release();
    }
  }

  /** Answers a turn, in a process of its own if it is suspect. Returns the turn that is claimed next. */
  async #answer(claimed: ClaimedTurn): Promise<ClaimedTurn | undefined> {
    const { lease, agent, attempt, traceParent, waited } = claimed;
    const { conversation, turn } = lease;
    const isSuspect = attempt >= TURN_LIMITS.maxAttempts || turn === this.#killer;
    if (isSuspect && this.ports.agents.find(agent) !== undefined) {
      const apart = await answerApart(this, claimed);
      if (apart === 'done') return undefined;
      if (apart === 'died') {
        this.#killer = turn;
        return this.#claim();
      }
    }
    const { suspendedIn } = waited ?? {};
    const about = { kind: 'turn', conversation, turn, agent, attempt, traceParent, suspendedIn } as const;
    return this.ports.tracing.inSpan(about, () => answerClaimedTurn(this, claimed));
  }

  /** Claims the next turn. A turn whose agent no worker has had for long is still claimed, and fails. */
  async #claim(): Promise<ClaimedTurn | undefined> {
    const { turns, ids, elsewhere } = this.ports;
    this.#postponed = undefined;
    let claim = await turns.claim(this.#conversation, this.#owner, ids.next(), elsewhere?.names);
    if (claim.status === 'unserved') {
      const delayMs = await elsewhere?.delayOf(claim.agent, 'turn');
      if (delayMs !== undefined) {
        this.#postponed = { status: 'postponed', delayMs };
        return undefined;
      }
      claim = await turns.claim(this.#conversation, this.#owner, ids.next());
    }
    if (claim.status === 'poison') await reportPoison(this.ports, this.#conversation, claim);
    return claim.status === 'claimed' ? claim.turn : undefined;
  }

  mayClaimNext(): boolean {
    const { maxTurns, maxDeliveryMs } = this.settings;
    if (mustHandBack(this)) return false;
    return this.#claims < maxTurns && this.ports.clock.now() - this.#startedAt < maxDeliveryMs;
  }
}

/** Reports a turn that failed because no claim of it had an outcome (I10). The next turn has its own wake. */
async function reportPoison(
  { onEvent, wakes }: TurnPorts,
  conversation: ConversationRef,
  { turn, wake }: Extract<ClaimResult, { status: 'poison' }>,
): Promise<void> {
  onEvent({ type: 'turn_settled', ...nameConversation(conversation), turn, outcome: 'failed', code: 'poison' });
  if (wake !== undefined) await wakeUnlessFull(wakes, 'turn', conversation, wake);
}

function reportClaimed({ onEvent }: TurnPorts, claimed: ClaimedTurn): void {
  const { lease, agent, attempt, isFirstClaim, dueAt, claimedAt, waited } = claimed;
  const { conversation, turn } = lease;
  const ms = Math.max(0, claimedAt - (waited?.since ?? dueAt));
  const times = waited ? { suspended: { for: waited.for, ms } } : { waitMs: ms };
  onEvent({
    type: 'turn_claimed',
    ...nameConversation(conversation),
    turn,
    agent,
    attempt,
    ...(isFirstClaim && times),
  });
}

/** ms until any worker may claim a suspect, if this worker runs as many separate processes as it may. */
const FULL_DELAY_MS = 5_000;

/**
 * Answers a suspect in a process of its own. This process also renews the lease, in case the child's event loop blocks.
 * @throws LostTurn if the lease was lost
 */
async function answerApart(
  { ports, settings }: OpenDelivery,
  claimed: ClaimedTurn,
): Promise<'done' | 'died' | 'not_started'> {
  const { turns, clock, shutdown, suspects } = ports;
  if (suspects === undefined) return 'not_started';
  const startedAt = clock.now();
  const guard = new TurnGuard(claimed.lease, { ...ports, ...settings });
  const handSuspectBack = async (end: Extract<TurnEnd, { kind: 'handed_back' }>): Promise<'done'> => {
    await endTurn(ports, { claimed, guard, startedAt, end, mayClaimNext: false });
    return 'done';
  };
  try {
    const end = await suspects.run(claimed, guard.signal);
    switch (end) {
      case 'ended':
        return 'done';
      case 'not_started':
        return end;
      case 'full':
        return await handSuspectBack({ kind: 'handed_back', isCutOff: false, delayMs: FULL_DELAY_MS });
      case 'stopped':
        shutdown.noteCutOff();
        return await handSuspectBack({ kind: 'handed_back', isCutOff: true });
      case 'died': {
        const reported = await turns.reportDeath(claimed.lease);
        if (isLost(reported)) throw new LostTurn(reported.status);
        return end;
      }
    }
  } finally {
    guard.stop();
  }
}
