import type { Clock } from '../../domain/clock.ts';
import type { ConversationState, StepState } from '../../domain/conversation.ts';
import type { StepRecord } from '../../domain/turn.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import type { StepOutcome } from '../../store/turn-steps.ts';
import type { TurnStore } from '../../store/turns.ts';
import type { ContextCache } from './context-cache.ts';
import { applyWaitEvent, readStepWaits, type StepWaits, type WaitEvent } from './step-decision.ts';
import { LostTurn, type TurnGuard } from './turn-guard.ts';

interface JournalPorts {
  readonly guard: TurnGuard;
  readonly clock: Clock;
  readonly turns: Pick<TurnStore, 'startSteps' | 'recordStep' | 'takeSteering'>;
  readonly claimed: Pick<ClaimedTurn, 'conversation' | 'steps' | 'spentTokens'>;
  readonly context: ContextCache;
  readonly onOutcome?: () => void;
}

/** The recorded model and tool calls of a turn, and its conversation's state. Every write may throw LostTurn. */
export class TurnJournal {
  readonly #ports: JournalPorts;
  readonly #steps: Map<string, StepRecord>;
  #conversation: StepState;
  #openCalls: Set<string>;
  #spentTokens: number;

  constructor(ports: JournalPorts) {
    this.#ports = ports;
    this.#steps = new Map(ports.claimed.steps);
    this.#conversation = ports.claimed.conversation;
    this.#openCalls = readOpenCalls(ports.claimed.conversation);
    this.#spentTokens = ports.claimed.spentTokens;
  }

  get spentTokens(): number {
    return this.#spentTokens;
  }

  get steps(): ReadonlyMap<string, StepRecord> {
    return this.#steps;
  }

  get conversation(): StepState {
    return this.#conversation;
  }

  get openCalls(): ReadonlySet<string> {
    return this.#openCalls;
  }

  /** @param state newer state of the conversation. Undefined if the conversation was erased */
  adopt(state: ConversationState | undefined): void {
    if (state === undefined) throw new LostTurn('gone');
    this.#conversation = state;
    this.#openCalls = readOpenCalls(state);
  }

  waitsOf(step: string): StepWaits {
    return readStepWaits(this.#steps, step);
  }

  async recordWait(step: string, event: WaitEvent): Promise<void> {
    await this.start([applyWaitEvent(this.waitsOf(step), event).mark]);
  }

  async start(keys: readonly string[]): Promise<void> {
    const { turns, guard, clock } = this.#ports;
    guard.signal.throwIfAborted();
    await guard.write('start', () => turns.startSteps(guard.lease, keys));
    for (const key of keys) {
      if (!this.#steps.has(key)) this.#steps.set(key, { status: 'started', at: clock.now() });
    }
  }

  /**
   * Appends the messages of turns that steer this turn. Writes to the store only if such turns may exist.
   * @param refuses field of a message that the agent does not accept
   */
  async takeSteering(refuses?: 'parts'): Promise<void> {
    if (this.#conversation.isSteered !== true) return;
    const { turns, guard } = this.#ports;
    guard.signal.throwIfAborted();
    this.adopt((await guard.write('steer', () => turns.takeSteering(guard.lease, refuses))).conversation);
  }

  async record(outcome: StepOutcome): Promise<void> {
    const { turns, guard } = this.#ports;
    guard.signal.throwIfAborted();
    const { status, conversation } = await guard.write('step', () => turns.recordStep(guard.lease, outcome));
    const { usage, requestTokens = 0 } = outcome;
    const tokens = usage === undefined ? requestTokens : usage.inputTokens + usage.outputTokens;
    if (status === 'recorded') this.#spentTokens += tokens;
    this.adoptOutcome(outcome, conversation);
  }

  adoptOutcome({ key, opens, closes, messages }: StepOutcome, conversation: StepState): void {
    const { context, clock, onOutcome } = this.#ports;
    onOutcome?.();
    this.#steps.set(key, { status: 'done', at: clock.now() });
    for (const { id } of opens) this.#openCalls.add(id);
    for (const id of closes) this.#openCalls.delete(id);
    context.append(
      messages.map(({ message }) => message),
      conversation,
    );
    // Replies to parallel writes may arrive out of order, so only a newer state is adopted.
    if (conversation.head >= this.#conversation.head) this.#conversation = conversation;
  }
}

function readOpenCalls({ openCalls }: ConversationState): Set<string> {
  return new Set(openCalls.map(({ id }) => id));
}

/** Recorded model and tool calls (steps) by key. A repeated call has the same key, so it is recorded once (I5). */
type Steps = ReadonlyMap<string, StepRecord>;

export function modelKey(number: number): string {
  return `model-${number}`;
}

export function stepOfModelKey(key: string): number {
  return Number(key.slice('model-'.length));
}

export function toolKey(callId: string): string {
  return `tool-${callId}`;
}

export const MODEL_STEP = /^model-/;

/** Counts model and tool calls. Records of waits, which are among the steps, do not count. */
export function countSteps(steps: Steps, pattern = /^(model|tool)-/): number {
  return [...steps.keys()].filter((key) => pattern.test(key)).length;
}

/**
 * Key by which a provider or tool recognizes a repeated call. The time of acceptance is part of it, because an erased
 * conversation may be created again, with a turn of the same id.
 */
export function idempotencyKey({ claimed }: { readonly claimed: ClaimedTurn }, step: string): string {
  const { conversation, turn } = claimed.lease;
  return `${conversation.tenant}/${conversation.id}/${turn}/${claimed.acceptedAt}/${step}`;
}
