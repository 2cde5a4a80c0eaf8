import type { ConversationState, StepState } from '../../domain/conversation.ts';
import {
  type ClaimedTurn,
  isLost,
  type Lost,
  type StepOutcome,
  type TurnStore,
} from '../../domain/ports/turn-store.ts';
import type { StepRecord } from '../../domain/turn.ts';
import type { ContextCache } from './context-cache.ts';
import { type LeaseWritePorts, writeUnderLease } from './held-write.ts';
import { LostTurn } from './lost-turn.ts';

export interface JournalOptions extends LeaseWritePorts {
  readonly turns: Pick<TurnStore, 'startSteps' | 'recordStep'>;
  readonly claimed: Pick<ClaimedTurn, 'conversation' | 'steps'>;
  readonly context: ContextCache;
  /** called for each recorded outcome */
  readonly onOutcome?: () => void;
}

/**
 * What is known of a claimed turn: its recorded steps and its conversation's state. Every write of the turn's work
 * goes through here, so that both stay current.
 */
export class TurnJournal {
  readonly #options: JournalOptions;
  readonly #steps: Map<string, StepRecord>;
  #conversation: StepState;
  #openCalls: Set<string>;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#steps = new Map(options.claimed.steps);
    this.#conversation = options.claimed.conversation;
    this.#openCalls = readOpenCalls(options.claimed.conversation);
  }

  get steps(): ReadonlyMap<string, StepRecord> {
    return this.#steps;
  }

  get conversation(): StepState {
    return this.#conversation;
  }

  /** Ids of the calls that have no result yet. */
  get openCalls(): ReadonlySet<string> {
    return this.#openCalls;
  }

  /** Takes over a state that was read after the last record; undefined: the conversation is gone. */
  adopt(state: ConversationState | undefined): void {
    if (state === undefined) throw new LostTurn('gone');
    this.#conversation = state;
    this.#openCalls = readOpenCalls(state);
  }

  /** @throws LostTurn */
  async start(keys: readonly string[]): Promise<void> {
    const { turns, keeper, clock } = this.#options;
    keeper.signal.throwIfAborted();
    this.#held(await writeUnderLease(this.#options, 'start', () => turns.startSteps(keeper.lease, keys)));
    for (const key of keys) {
      if (!this.#steps.has(key)) this.#steps.set(key, { status: 'started', at: clock.now() });
    }
  }

  /** @throws LostTurn */
  async record(outcome: StepOutcome): Promise<StepState> {
    const { turns, keeper, context, clock, onOutcome } = this.#options;
    keeper.signal.throwIfAborted();
    const recorded = await writeUnderLease(this.#options, 'step', () => turns.recordStep(keeper.lease, outcome));
    const { conversation } = this.#held(recorded);
    onOutcome?.();
    this.#steps.set(outcome.key, { status: 'done', at: clock.now() });
    for (const { id } of outcome.opens) this.#openCalls.add(id);
    for (const id of outcome.closes) this.#openCalls.delete(id);
    context.append(
      outcome.messages.map(({ message }) => message),
      conversation,
    );
    // Of parallel records the one that was answered last need not have been written last.
    if (conversation.head >= this.#conversation.head) this.#conversation = conversation;
    return conversation;
  }

  #held<Result extends { readonly status: string }>(result: Result | Lost): Exclude<Result, Lost> {
    if (isLost(result)) throw new LostTurn(result.status);
    return result as Exclude<Result, Lost>;
  }
}

function readOpenCalls({ openCalls }: ConversationState): Set<string> {
  return new Set(openCalls.map(({ id }) => id));
}
