import type { ContentListener } from '../../domain/contents.ts';
import type { EventListener, ModelOutcome } from '../../domain/events.ts';
import type { Limits } from '../../domain/limits.ts';
import {
  isModelError,
  type Model,
  type ModelAnswer,
  type ModelErrorKind,
  type ModelRequest,
  type ModelUsage,
} from '../../domain/model.ts';
import { checkAnswer } from '../../domain/model-answer.ts';
import type { Clock } from '../../domain/ports/clock.ts';
import type { Tracing } from '../../domain/ports/tracing.ts';
import type { TurnLease } from '../../domain/ports/turn-store.ts';
import { describeUsage } from '../../domain/usage.ts';
import { StoppedWork } from '../shutdown.ts';
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
  readonly lease: Pick<TurnLease, 'conversation' | 'turn'>;
  readonly model: Model;
  readonly limits: Limits;
  readonly request: Omit<ModelRequest, 'signal'>;
  readonly deadline: StepDeadline;
  /** the request's context is shorter than its log */
  readonly isCompacted: boolean;
  readonly clock: Clock;
  readonly onEvent: EventListener;
  readonly onContent: ContentListener | undefined;
  readonly tracing: Tracing;
}

/** @throws LostTurn, when the turn ends under the call; StoppedWork, when the worker does */
export function callModel(call: ModelCall): Promise<ModelCallResult> {
  const { model, isCompacted, request, tracing } = call;
  const { maxOutputTokens } = request;
  const about = { kind: 'model_call', profile: model.profile, maxOutputTokens, isCompacted } as const;
  return tracing.inSpan(about, () => askModel(call));
}

async function askModel(call: ModelCall): Promise<ModelCallResult> {
  const { lease, model, request, deadline, clock, onContent } = call;
  const { conversation, turn } = lease;
  const startedAt = clock.now();
  const { observed, seen } = observeRequest(call);
  onContent?.({ type: 'model_asked', conversation, turn, system: request.system, messages: request.messages });
  try {
    const answer = checkAnswer(await callWithin(deadline, (signal) => model.generate({ ...observed, signal })));
    reportCall(call, 'answered', { startedAt, ...seen, answer });
    const { content, toolCalls } = answer;
    onContent?.({ type: 'model_answered', conversation, turn, content, toolCalls });
    return { status: 'answered', answer };
  } catch (error) {
    reportCall(call, outcomeOf(error, deadline), { startedAt, ...seen, error });
    if (deadline.signal.aborted) throw error;
    if (deadline.stop.aborted) throw new StoppedWork();
    return { status: 'failed', failure: describeFailure(error) };
  }
}

/** What came before the answer. */
interface Seen {
  firstTextAt: number | undefined;
  usage: ModelUsage | undefined;
}

/** The request, with somebody who listens to what comes before its answer. */
function observeRequest({ lease: { conversation }, request, clock, onEvent }: ModelCall) {
  const seen: Seen = { firstTextAt: undefined, usage: undefined };
  const { onText } = request;
  const onPassedOver = (model: string, outcome: ModelErrorKind): void => {
    Object.assign(seen, { firstTextAt: undefined, usage: undefined });
    onEvent({ type: 'model_passed_over', conversation, purpose: 'turn', model, outcome });
    request.onPassedOver?.(model, outcome);
  };
  const observed = {
    ...request,
    onPassedOver,
    onUsage(usage: ModelUsage) {
      seen.usage = usage;
    },
    ...(onText && {
      onText(piece: string) {
        seen.firstTextAt ??= clock.now();
        return onText(piece);
      },
    }),
  };
  return { observed, seen };
}

/** An error that no adapter coded could quote the request, so that only its name is kept. */
function describeFailure(error: unknown): ModelFailure {
  if (error instanceof StepTimeout) return { kind: 'retry', message: error.message };
  if (isModelError(error)) {
    const { kind, message, retryAt, code, form } = error;
    return { kind, message, retryAt, code, form };
  }
  return { kind: 'fatal', message: error instanceof Error ? error.name : typeof error };
}

function outcomeOf(error: unknown, { stop }: StepDeadline): ModelOutcome {
  if (error instanceof LostTurn) return 'lost';
  if (error instanceof StoppedWork || stop.aborted) return 'stopped';
  if (error instanceof StepTimeout) return 'timeout';
  return isModelError(error) ? error.kind : 'fatal';
}

interface CallEnd extends Readonly<Seen> {
  readonly startedAt: number;
  readonly answer?: ModelAnswer;
  readonly error?: unknown;
}

function reportCall(
  { lease: { conversation }, model, limits, request, clock, onEvent }: ModelCall,
  outcome: ModelOutcome,
  { startedAt, firstTextAt, usage, answer, error }: CallEnd,
): void {
  const now = clock.now();
  const failure = isModelError(error) ? error : undefined;
  const retryAt = failure?.retryAt;
  onEvent({
    type: 'model_called',
    conversation,
    purpose: 'turn',
    model: model.profile.id,
    ...(answer?.model !== undefined && { answeredBy: answer.model }),
    outcome,
    tokens: request.tokens,
    durationMs: now - startedAt,
    ...(firstTextAt !== undefined && { firstTextMs: firstTextAt - startedAt }),
    ...(failure && { why: failure.message, ...(failure.code !== undefined && { code: failure.code }) }),
    ...(retryAt !== undefined && { retryAfterMs: Math.max(0, retryAt - now) }),
    isOverLimit: limits.usable !== undefined && request.tokens > limits.usable,
    ...describeUsage(model.profile, answer?.usage ?? failure?.usage ?? usage),
  });
}
