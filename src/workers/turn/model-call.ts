import type { ContentListener } from '../../domain/contents.ts';
import type { EventListener, ModelOutcome } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import type { Limits } from '../../domain/limits.ts';
import {
  isModelError,
  type Model,
  type ModelAnswer,
  ModelError,
  type ModelErrorKind,
  type ModelRequest,
  type ModelUsage,
} from '../../domain/model.ts';
import { checkAnswer, readModelError, readPassedOver, readUsage } from '../../domain/model-answer.ts';
import type { Clock } from '../../domain/ports/clock.ts';
import type { Tracing } from '../../domain/ports/tracing.ts';
import type { TurnLease } from '../../domain/ports/turn-store.ts';
import { describeUsage } from '../../domain/usage.ts';
import { StoppedWork } from '../shutdown.ts';
import { callWithin, type StepDeadline, StepTimeout } from './step-deadline.ts';
import { LostTurn } from './turn-errors.ts';

/** The error of a call, by its consequence for the turn. */
export interface ModelFailure {
  readonly kind: ModelErrorKind;
  /** Without contents. */
  readonly message: string;
  readonly retryAt?: number | undefined;
  /** The provider's error code, or our rule. */
  readonly code?: string | undefined;
  /** Form of a refused request, as JSON. */
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
  /** The context contains less than the log. */
  readonly isCompacted: boolean;
  readonly clock: Clock;
  readonly onEvent: EventListener;
  readonly onContent: ContentListener | undefined;
  readonly tracing: Tracing;
}

/** @throws LostTurn if the turn ends during the call. StoppedWork if the worker stops. */
export function callModel(call: ModelCall): Promise<ModelCallResult> {
  const { model, isCompacted, request, tracing } = call;
  const { maxOutputTokens } = request;
  const about = { kind: 'model_call', profile: model.profile, maxOutputTokens, isCompacted } as const;
  return tracing.inSpan(about, () => askModel(call));
}

async function askModel(call: ModelCall): Promise<ModelCallResult> {
  const { lease, request, deadline, clock, onContent } = call;
  const { conversation, turn } = lease;
  const startedAt = clock.now();
  const { observed, progress } = observeRequest(call);
  onContent?.({
    type: 'model_asked',
    ...nameConversation(conversation),
    turn,
    system: request.system,
    messages: request.messages,
  });
  try {
    const answer = await callWithin(deadline, (signal) => generateSafely(call, { ...observed, signal }));
    reportCall(call, 'answered', { startedAt, ...progress, answer });
    const { content, toolCalls } = answer;
    onContent?.({ type: 'model_answered', ...nameConversation(conversation), turn, content, toolCalls });
    return { status: 'answered', answer };
  } catch (error) {
    reportCall(call, outcomeOf(error, deadline), { startedAt, ...progress, error });
    deadline.signal.throwIfAborted();
    if (deadline.stop.aborted) throw new StoppedWork();
    return { status: 'failed', failure: describeFailure(error) };
  }
}

/** The border to foreign code. @throws ModelError for any error and any malformed answer of the model */
async function generateSafely({ model, clock }: ModelCall, request: ModelRequest): Promise<ModelAnswer> {
  try {
    return checkAnswer(await model.generate(request));
  } catch (error) {
    throw readModelError(error, clock.now());
  }
}

/** Observations before the answer. */
interface Progress {
  firstTextAt: number | undefined;
  usage: ModelUsage | undefined;
}

/** Adds listeners to a request that record its progress. */
function observeRequest({ lease: { conversation }, request, clock, onEvent }: ModelCall) {
  const progress: Progress = { firstTextAt: undefined, usage: undefined };
  const { onText } = request;
  const onPassedOver = (name: unknown, kind: unknown): void => {
    Object.assign(progress, { firstTextAt: undefined, usage: undefined });
    const passed = readPassedOver(name, kind);
    onEvent({ type: 'model_passed_over', ...nameConversation(conversation), purpose: 'turn', ...passed });
    request.onPassedOver?.(passed.model, passed.outcome);
  };
  const observed = {
    ...request,
    onPassedOver,
    onUsage(usage: unknown) {
      progress.usage = readUsage(usage);
    },
    ...(onText && {
      onText(piece: unknown) {
        // Other values are not streamed. The answer is checked as a whole.
        if (typeof piece !== 'string') return;
        progress.firstTextAt ??= clock.now();
        onText(piece);
      },
    }),
  };
  return { observed, progress };
}

/** @param error from `generateSafely` or the deadline */
function describeFailure(error: unknown): ModelFailure {
  if (error instanceof StepTimeout) return { kind: 'retry', message: error.message };
  const { kind, message, retryAt, code, form } = isModelError(error) ? error : new ModelError('fatal', 'unknown');
  return { kind, message, retryAt, code, form };
}

function outcomeOf(error: unknown, { stop }: StepDeadline): ModelOutcome {
  if (error instanceof LostTurn) return 'lost';
  if (error instanceof StoppedWork || stop.aborted) return 'stopped';
  if (error instanceof StepTimeout) return 'timeout';
  return isModelError(error) ? error.kind : 'fatal';
}

interface CallEnd extends Readonly<Progress> {
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
  onEvent({
    type: 'model_called',
    ...nameConversation(conversation),
    purpose: 'turn',
    model: model.profile.id,
    ...(answer?.model !== undefined && { answeredBy: answer.model }),
    outcome,
    tokens: request.tokens,
    durationMs: now - startedAt,
    ...(firstTextAt !== undefined && { firstTextMs: firstTextAt - startedAt }),
    ...(failure && describeError(failure, now)),
    isOverLimit: limits.usable !== undefined && request.tokens > limits.usable,
    ...describeUsage(model.profile, answer?.usage ?? failure?.usage ?? usage),
  });
}

function describeError({ message, code, retryAt }: ModelError, now: number) {
  return {
    why: message,
    ...(code !== undefined && { code }),
    ...(retryAt !== undefined && { retryAfterMs: Math.max(0, retryAt - now) }),
  };
}
