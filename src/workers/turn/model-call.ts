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
  const { lease, request, deadline, clock, onContent } = call;
  const { conversation, turn } = lease;
  const startedAt = clock.now();
  const { observed, seen } = observeRequest(call);
  onContent?.({
    type: 'model_asked',
    ...nameConversation(conversation),
    turn,
    system: request.system,
    messages: request.messages,
  });
  try {
    const answer = await callWithin(deadline, (signal) => generateSafely(call, { ...observed, signal }));
    reportCall(call, 'answered', { startedAt, ...seen, answer });
    const { content, toolCalls } = answer;
    onContent?.({ type: 'model_answered', ...nameConversation(conversation), turn, content, toolCalls });
    return { status: 'answered', answer };
  } catch (error) {
    reportCall(call, outcomeOf(error, deadline), { startedAt, ...seen, error });
    deadline.signal.throwIfAborted();
    if (deadline.stop.aborted) throw new StoppedWork();
    return { status: 'failed', failure: describeFailure(error) };
  }
}

/** The border to a model that anybody may have written. @throws ModelError, whatever the model throws or answers */
async function generateSafely({ model, clock }: ModelCall, request: ModelRequest): Promise<ModelAnswer> {
  try {
    return checkAnswer(await model.generate(request));
  } catch (error) {
    throw readModelError(error, clock.now());
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
  const onPassedOver = (name: unknown, kind: unknown): void => {
    Object.assign(seen, { firstTextAt: undefined, usage: undefined });
    const passed = readPassedOver(name, kind);
    onEvent({ type: 'model_passed_over', ...nameConversation(conversation), purpose: 'turn', ...passed });
    request.onPassedOver?.(passed.model, passed.outcome);
  };
  const observed = {
    ...request,
    onPassedOver,
    onUsage(usage: unknown) {
      seen.usage = readUsage(usage);
    },
    ...(onText && {
      onText(piece: unknown) {
        // Text alone is streamed: whatever else a model hands over is left out, and the answer is still checked whole.
        if (typeof piece !== 'string') return;
        seen.firstTextAt ??= clock.now();
        onText(piece);
      },
    }),
  };
  return { observed, seen };
}

/** @param error of the model, as `generateSafely` reads it, or of the deadline */
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
    ...nameConversation(conversation),
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
