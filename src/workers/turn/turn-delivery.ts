import { isTurnfoldError } from '../../domain/errors.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import type { Postponed, TurnDeliveryResult, TurnHandler } from '../../domain/ports/queue.ts';
import type { SpanSubject } from '../../domain/ports/tracing.ts';
import { type ClaimedTurn, isLost, type TurnLease } from '../../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import { reportBackoff, requestPass } from '../pass-request.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { StoppedWork, unlessAborted } from '../shutdown.ts';
import type { SoloHold } from '../solo-lock.ts';
import { enterPlace, postpone, waitWithin } from '../work-place.ts';
import { BrokenDelivery, endBrokenTurn } from './broken-turn.ts';
import { ContextCache } from './context-cache.ts';
import { Ending, LostTurn } from './ending.ts';
import { PieceStream, type StreamedTurn } from './piece-stream.ts';
import { answerApart } from './suspect-turn.ts';
import { decideTurnEnd } from './threshold-check.ts';
import { runTurn } from './turn-actions.ts';
import { claimTurn, reportClaimed } from './turn-claim.ts';
import { type ClaimedWork, endTurn } from './turn-end.ts';
import { TurnJournal } from './turn-journal.ts';
import { type RunningTurn, TURN_SETTINGS, type TurnPorts, type TurnSettings } from './turn-ports.ts';
import { failTurn, HANDED_BACK } from './turn-states.ts';
import { undoSettled } from './undo-canceled.ts';

/** ms that a turn waits for the process's exclusive lock. After that, another process may try the turn. */
const ALONE_WAIT_MS = 60_000;

export function createTurnHandler(ports: TurnPorts): TurnHandler {
  return (conversation) => new TurnDelivery(ports, conversation).run();
}

/**
 * Answers a suspect in the process that was started for it. The parent process has claimed the turn.
 * @throws BrokenDelivery for an unexpected error
 */
export async function answerSuspect(ports: TurnPorts, claimed: ClaimedTurn): Promise<TurnDeliveryResult> {
  const settings = { ...ports.settings, maxTurns: 1 };
  return await new TurnDelivery({ ...ports, settings, isWatched: true }, claimed.lease.conversation).run(claimed);
}

/**
 * Handles one wake of a conversation. Claims and answers turns, until the mailbox is empty, its first turn waits, or
 * the delivery has reached its limit of turns or time. At that limit, the last settlement records the next wake.
 */
export class TurnDelivery {
  readonly #ports: TurnPorts;
  readonly #settings: TurnSettings;
  readonly #conversation: ConversationRef;
  readonly #context: ContextCache;
  readonly #owner: string;
  readonly #startedAt: number;
  #claims = 0;
  #hold: SoloHold | undefined;
  /** Turn that killed a process of its own. It made progress there, so it is no suspect by its attempts. */
  #killer: string | undefined;
  #postponed: Postponed | undefined;

  constructor(ports: TurnPorts, conversation: ConversationRef) {
    this.#ports = ports;
    this.#settings = { ...TURN_SETTINGS, ...ports.settings };
    this.#conversation = conversation;
    this.#context = new ContextCache(ports.contexts, conversation);
    this.#owner = ports.owners.next();
    this.#startedAt = ports.clock.now();
  }

  /**
   * Claims and answers turns until the delivery ends.
   * @param given a turn that another process has claimed for this delivery
   * @throws BrokenDelivery for an unexpected error. An outage of Redis is thrown unchanged, so that it is reported once
   * for all turns.
   */
  async run(given?: ClaimedTurn): Promise<TurnDeliveryResult> {
    this.#hold = await enterPlace(this.#ports);
    if (this.#hold === undefined) return postpone(this.#ports);
    try {
      return await this.#answerMailbox(given);
    } finally {
      this.#hold?.release();
    }
  }

  async #answerMailbox(given: ClaimedTurn | undefined): Promise<TurnDeliveryResult> {
    let turn = given;
    try {
      turn ??= await this.#claim();
      while (turn !== undefined) {
        this.#claims += 1;
        if (turn !== given) reportClaimed(this.#ports, turn);
        turn = await this.#answerClaimed(turn);
      }
      return this.#postponed ?? { status: 'done' };
    } catch (error) {
      if (error instanceof LostTurn) return { status: 'lost' };
      if (isTurnfoldError(error, 'redis_unavailable')) throw error;
      throw new BrokenDelivery(
        { ...nameConversation(this.#conversation), ...(turn && { turn: turn.lease.turn }) },
        error,
      );
    }
  }

  async #claim(): Promise<ClaimedTurn | undefined> {
    const claim = await claimTurn(this.#ports, this.#conversation, this.#owner);
    this.#postponed = claim.status === 'postponed' ? claim : undefined;
    return claim.status === 'claimed' ? claim.turn : undefined;
  }

  /**
   * Answers a claimed turn: a suspect in a process of its own, if this worker can start one, and any other turn here.
   * @returns the next turn that this delivery has claimed
   */
  async #answerClaimed(claimed: ClaimedTurn): Promise<ClaimedTurn | undefined> {
    const { suspects, agents, tracing } = this.#ports;
    const { turn } = claimed.lease;
    const isSuspect = claimed.attempt >= TURN_LIMITS.maxAttempts || turn === this.#killer;
    if (isSuspect && suspects !== undefined && agents.find(claimed.agent) !== undefined) {
      const end = await answerApart({ ...this.#ports, suspects }, this.#settings, claimed);
      if (end === 'done') return undefined;
      if (end === 'died') {
        this.#killer = turn;
        return await this.#claim();
      }
    }
    return await tracing.inSpan(describeSpan(claimed), () => this.#answerUntilEnding(claimed));
  }

  /**
   * Answers a claimed turn until the work or its `Ending` ends.
   * @returns the next turn, if it was claimed together with the settlement of this one
   */
  async #answerUntilEnding(claimed: ClaimedTurn): Promise<ClaimedTurn | undefined> {
    const ports = this.#ports;
    const startedAt = ports.clock.now();
    const ending = new Ending(claimed.lease, { ...ports, ...this.#settings });
    const work = { claimed, ending, startedAt };
    try {
      return await unlessAborted(ports.shutdown.workEnds, () => this.#answer(work));
    } catch (error) {
      const cause = error instanceof StoppedWork ? await this.#handBack(work, error) : error;
      if (cause === undefined) return undefined;
      if (cause instanceof LostTurn)
        ports.onEvent({ type: 'lease_lost', what: 'turn', ...ending.scope, why: cause.why });
      // The delivery reports the first error. An error of this write has the same cause, or the lease was lost.
      else await endBrokenTurn(ports, work, cause).catch(() => undefined);
      throw cause;
    } finally {
      ending.stop();
    }
  }

  /**
   * When the worker stops, abandons work that did not end in time. The lease is handed back, so the abandoned work can
   * write nothing more.
   * @returns the error of a turn that could not be handed back
   */
  async #handBack(work: ClaimedWork, cause: StoppedWork): Promise<unknown> {
    work.ending.abort(cause);
    this.#ports.shutdown.noteCutOff();
    const end = { kind: 'handed_back', isCutOff: true } as const;
    return await endTurn(this.#ports, { ...work, end, mayClaimNext: false }).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  async #answer(work: ClaimedWork): Promise<ClaimedTurn | undefined> {
    const { claimed, ending } = work;
    const { agent } = claimed;
    const mustBeAlone = claimed.attempt >= TURN_LIMITS.maxAttempts;
    if (mustBeAlone && !(await this.#becomeAlone(ending))) {
      await endTurn(this.#ports, { ...work, end: HANDED_BACK, mayClaimNext: false });
      return undefined;
    }
    const prepared = this.#ports.agents.find(agent);
    if (prepared === undefined) {
      const end = failTurn(
        'unknown_agent',
        `no running worker has an agent named "${agent}". Start a worker with the agent, and re-drive the turn`,
        { agent },
      );
      return (await endTurn(this.#ports, { ...work, end, mayClaimNext: this.#hasShareLeft() })).next;
    }
    const run = this.#openTurn(claimed, ending, prepared);
    const end = await runTurn(run);
    const ended = { ...work, end, mayClaimNext: this.#hasShareLeft() };
    const { next, conversation } = await endTurn(this.#ports, ended);
    const isSettled = end.kind === 'completed' || end.kind === 'failed';
    const step = isSettled ? end.step : undefined;
    if (isSettled && end.leaves !== undefined && next === undefined) await this.#undoSettled(claimed.lease);
    if (step !== undefined && conversation !== undefined) run.journal.adoptOutcome(step, conversation);
    return end.kind === 'completed' ? await this.#requestPass(run, next) : next;
  }

  /**
   * Waits until no other work runs in this process (invariant I10). Returns false if that takes too long or if the
   * process stops.
   * @throws LostTurn if the turn's lease was lost
   */
  async #becomeAlone(ending: Ending): Promise<boolean> {
    const { turns, solo, shutdown, timers, isWatched = false } = this.#ports;
    this.#hold?.release();
    const wait = { timers, waitMs: ALONE_WAIT_MS, ends: [ending.signal, shutdown.begun] };
    this.#hold = await waitWithin(wait, (signal) => solo.alone(signal));
    ending.signal.throwIfAborted();
    if (this.#hold === undefined) return false;
    const started = await turns.startAlone(ending.lease, isWatched);
    if (isLost(started)) throw new LostTurn(started.status);
    return true;
  }

  #openTurn(claimed: ClaimedTurn, ending: Ending, prepared: PreparedAgent): RunningTurn {
    const ports = this.#ports;
    const context = this.#context;
    if (claimed.earlier !== undefined) context.adopt(claimed.earlier);
    if (claimed.input !== undefined) context.append([claimed.input], claimed.conversation);
    // A turn that has recorded an outcome did not crash its worker at once, so other work may run beside it again.
    const onOutcome = (): void => this.#hold?.admitOthers();
    const journal = new TurnJournal({ ...ports, claimed, ending, context, onOutcome });
    const stream = new PieceStream({ ...ports, lease: ending.lease, countText: textCounter(prepared) });
    return { claimed, prepared, turnContext: {}, journal, context, ending, stream, ports, settings: this.#settings };
  }

  async #undoSettled(lease: TurnLease): Promise<void> {
    try {
      await undoSettled(this.#ports, lease);
    } catch (error) {
      // The next turn repeats this work. An erased conversation has none.
      if (error instanceof LostTurn) return;
      this.#ports.onEvent({ type: 'worker_failed', where: 'turn end', ...nameConversation(lease.conversation), error });
    }
  }

  /**
   * After a turn is settled, requests a compaction pass if a threshold is met. If the worker crashes before that, the
   * next turn's threshold check requests the pass.
   * @returns the next turn with the id of that pass, because the next turn was claimed before the pass was requested
   */
  async #requestPass(
    { prepared, journal }: RunningTurn,
    next: ClaimedTurn | undefined,
  ): Promise<ClaimedTurn | undefined> {
    const { calibration } = prepared.overhead;
    const { reasons, backoff } = decideTurnEnd(prepared, journal.conversation);
    if (backoff !== undefined) reportBackoff(this.#ports, this.#conversation, backoff);
    if (reasons.length === 0) return next;
    try {
      const answer = await requestPass(this.#ports, this.#conversation, { reasons, calibration });
      if (next === undefined || answer.status === 'gone') return next;
      return { ...next, conversation: { ...next.conversation, passId: answer.passId } };
    } catch (error) {
      // This delivery already owns the next turn. If the error ended the delivery, that turn would wait until its lease
      // lapses.
      const conversation = this.#conversation;
      this.#ports.onEvent({ type: 'worker_failed', where: 'turn end', ...nameConversation(conversation), error });
      return next;
    }
  }

  #hasShareLeft(): boolean {
    const { maxTurns, maxDeliveryMs } = this.#settings;
    const { shutdown, solo } = this.#ports;
    if (shutdown.begun.aborted || solo.isWanted) return false;
    return this.#claims < maxTurns && this.#ports.clock.now() - this.#startedAt < maxDeliveryMs;
  }
}

/** The first piece of a text counts with the delimiters of its message. */
function textCounter(prepared: PreparedAgent): StreamedTurn['countText'] {
  if (prepared.agent.onCancel === 'discard') return undefined;
  return async (text, at) => {
    if (at > 0) return await prepared.counter.count(text);
    return (await prepared.weigh({ role: 'assistant', content: text })).tokens;
  };
}

function describeSpan({ lease, agent, attempt, traceParent, waited }: ClaimedTurn): SpanSubject {
  const { conversation, turn } = lease;
  return { kind: 'turn', conversation, turn, agent, attempt, traceParent, suspendedIn: waited?.suspendedIn };
}
