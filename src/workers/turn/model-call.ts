import type { EventListener, ModelOutcome } from '../../domain/events.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { Limits } from '../../domain/limits.ts';
import {
  type Model,
  type ModelAnswer,
  ModelError,
  type ModelErrorKind,
  type ModelRequest,
} from '../../domain/model.ts';
import type { Clock } from '../../domain/ports/clock.ts';
import { LostTurn } from './lost-turn.ts';
import { callWithin, type StepDeadline, StepTimeout } from './step-deadline.ts';

/** What a call that brought no answer means for its turn. */
export interface ModelFailure {
  readonly kind: ModelErrorKind;
  /** without contents */
  readonly message: string;
  readonly retryAt?: number | undefined;
  /** what the provider called it, or the rule of ours */
  readonly code?: string | undefined;
  /** of a refused request, as JSON */
  readonly form?: string | undefined;
}

export type ModelCallResult =
  | { readonly status: 'answered'; readonly answer: ModelAnswer }
  | { readonly status: 'failed'; readonly failure: ModelFailure };

export interface ModelCall {
  readonly conversation: ConversationRef;
  readonly model: Model;
  readonly limits: Limits;
  readonly request: Omit<ModelRequest, 'signal'>;
  readonly deadline: StepDeadline;
  readonly clock: Clock;
  readonly onEvent: EventListener;
}

/** @throws LostTurn, when the turn ends under the call */
export async function callModel(call: ModelCall): Promise<ModelCallResult> {
  const { model, request, deadline, clock } = call;
  const startedAt = clock.now();
  try {
    const answer = await callWithin(deadline, (signal) => model.generate({ ...request, signal }));
    reportCall(call, 'answered', { startedAt, answer });
    return { status: 'answered', answer };
  } catch (error) {
    reportCall(call, outcomeOf(error), { startedAt });
    if (deadline.signal.aborted) throw error;
    return { status: 'failed', failure: classifyFailure(error) };
  }
}

/** An error that no adapter coded could quote the request, so that only its name is kept. */
function classifyFailure(error: unknown): ModelFailure {
  if (error instanceof StepTimeout) return { kind: 'retry', message: error.message };
  if (error instanceof ModelError) {
    const { kind, message, retryAt, code, form } = error;
    return { kind, message, retryAt, code, form };
  }
  return { kind: 'fatal', message: error instanceof Error ? error.name : typeof error };
}

function outcomeOf(error: unknown): ModelOutcome {
  if (error instanceof LostTurn) return 'lost';
  if (error instanceof StepTimeout) return 'timeout';
  return error instanceof ModelError ? error.kind : 'fatal';
}

function reportCall(
  { conversation, model, limits, request, clock, onEvent }: ModelCall,
  outcome: ModelOutcome,
  { startedAt, answer }: { readonly startedAt: number; readonly answer?: ModelAnswer },
): void {
  const usage = answer?.usage;
  onEvent({
    type: 'model_called',
    conversation,
    purpose: 'turn',
    model: answer?.model ?? model.profile.id,
    outcome,
    tokens: request.tokens,
    durationMs: clock.now() - startedAt,
    isOverLimit: limits.usable !== undefined && request.tokens > limits.usable,
    ...(usage && { inputTokens: usage.inputTotal, outputTokens: usage.output }),
  });
}
