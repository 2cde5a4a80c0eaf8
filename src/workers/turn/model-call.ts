import type { Clock } from '../../domain/clock.ts';
import type { ContentListener } from '../../domain/contents.ts';
import type { EventListener, ModelOutcome, WorkerEvent } from '../../domain/events.ts';
import { isHeldBack, isHeldCall, throughGate } from '../../domain/held-call.ts';
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
import {
  checkAnswer,
  readModelError,
  readPassedOver,
  readToolCallPiece,
  readModelUsage,
  refuseEmptyAnswer,
} from '../../domain/model-answer.ts';
import type { Tracing } from '../../domain/tracing.ts';
import { describeUsage } from '../../domain/usage.ts';
import { StoppedWork } from '../shutdown.ts';
import { type Ending, LostTurn, StepTimeout } from './ending.ts';

/** The error of a model call, by its consequence for the turn. */
export interface ModelFailure {
  readonly kind: ModelErrorKind;
  /** Without contents of the conversation. */
  readonly message: string;
  readonly retryAt?: number | undefined;
  /** The provider's code, or the id of the rule that turnfold found broken. */
  readonly code?: string | undefined;
  /** Structure of the refused request as JSON, without contents. */
  readonly form?: string | undefined;
  /** The provider refused what the messages say or hold. */
  readonly refusesContents?: boolean;
  /** The provider named no message, but a size or a limit. */
  readonly mayBeTooLong?: boolean;
  /** The gate of the model chose the time of the next attempt. */
  readonly isHeld?: boolean;
}

export type ModelCallResult =
  | { readonly status: 'answered'; readonly answer: ModelAnswer }
  | { readonly status: 'failed'; readonly failure: ModelFailure };

export interface ModelCall {
  readonly model: Model;
  readonly limits: Limits;
  readonly request: Omit<ModelRequest, 'signal'>;
  readonly ending: Ending;
  readonly timeoutMs: number;
  /** Compaction removed or shortened messages of the log. */
  readonly isCompacted: boolean;
  readonly clock: Clock;
  readonly onEvent: EventListener;
  readonly onContent: ContentListener | undefined;
  readonly tracing: Tracing;
}

/** @throws LostTurn if the turn ends during the call. StoppedWork if the worker stops. */
export async function callModel(call: ModelCall): Promise<ModelCallResult> {
  const { ending, model, isCompacted, request, tracing, timeoutMs, onContent } = call;
  const { maxOutputTokens } = request;
  const about = { kind: 'model_call', profile: model.profile, maxOutputTokens, isCompacted } as const;
  return await tracing.inSpan(about, async () => {
    const { observed, progress } = observeRequest(call);
    try {
      const answer = await ending.call(timeoutMs, generateWith(call, observed));
      reportCall(call, progress, describeAnswer(answer));
      const { content, toolCalls } = answer;
      onContent?.({ type: 'model_answered', ...ending.scope, content, toolCalls });
      return { status: 'answered', answer };
    } catch (error) {
      if (!isHeldBack(error)) reportCall(call, progress, describeError(error, call));
      ending.throwIfEnded();
      return { status: 'failed', failure: readFailure(error) };
    }
  });
}

/**
 * Calls the model's own code, which turnfold does not trust.
 * @throws ModelError for every error and every malformed answer
 */
function generateWith({ ending, model, clock, onContent }: ModelCall, observed: Omit<ModelRequest, 'signal'>) {
  return async (signal: AbortSignal): Promise<ModelAnswer> => {
    const request = { ...observed, signal };
    try {
      const answer = await throughGate(request, model, async () => {
        const { system, messages } = request;
        onContent?.({ type: 'model_call_started', ...ending.scope, system, messages });
        return checkAnswer(await model.generate(request));
      });
      refuseEmptyAnswer(answer);
      return answer;
    } catch (error) {
      throw readModelError(error, clock.now());
    }
  };
}

interface Progress {
  readonly startedAt: number;
  firstTextAt: number | undefined;
  usage: ModelUsage | undefined;
}

function observeRequest({ ending, request, clock, onEvent }: ModelCall) {
  const { conversation } = ending.lease;
  const progress: Progress = { startedAt: clock.now(), firstTextAt: undefined, usage: undefined };
  const { onText, onReasoning, onToolCall } = request;
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
      progress.usage = readModelUsage(usage);
    },
    ...(onText && {
      onText(piece: unknown) {
        // The model's whole answer is checked later.
        if (typeof piece !== 'string') return;
        progress.firstTextAt ??= clock.now();
        onText(piece);
      },
    }),
    ...(onReasoning && {
      onReasoning(piece: unknown) {
        if (typeof piece === 'string') onReasoning(piece);
      },
    }),
    ...(onToolCall && {
      onToolCall(piece: unknown) {
        const read = readToolCallPiece(piece);
        if (read !== undefined) onToolCall(read);
      },
    }),
  };
  return { observed, progress };
}

function readFailure(error: unknown): ModelFailure {
  if (error instanceof StepTimeout) return { kind: 'retry', message: error.message };
  const { kind, message, retryAt, code, form, refusesContents, mayBeTooLong } = isModelError(error)
    ? error
    : new ModelError('fatal', 'the model threw an error that turnfold could not read');
  return { kind, message, retryAt, code, form, refusesContents, mayBeTooLong, isHeld: isHeldCall(error) };
}

function outcomeOf(error: unknown, ending: Ending): ModelOutcome {
  if (error instanceof LostTurn) return 'lost';
  if (error instanceof StoppedWork || ending.callsEnd.aborted) return 'stopped';
  if (error instanceof StepTimeout) return 'timeout';
  return isModelError(error) ? error.kind : 'fatal';
}

type CalledEvent = Extract<WorkerEvent, { readonly type: 'model_called' }>;

/** A call that ended without token usage has the usage that the model reported last. */
interface CallEnd extends Pick<CalledEvent, 'outcome' | 'answeredBy' | 'why' | 'code' | 'retryAfterMs'> {
  readonly usage: ModelUsage | undefined;
}

function describeAnswer({ model, usage }: ModelAnswer): CallEnd {
  return { outcome: 'answered', usage, ...(model !== undefined && { answeredBy: model }) };
}

function describeError(error: unknown, { ending, clock }: ModelCall): CallEnd {
  const outcome = outcomeOf(error, ending);
  if (!isModelError(error)) return { outcome, usage: undefined };
  const { message, code, retryAt, usage } = error;
  return {
    outcome,
    usage,
    why: message,
    ...(code !== undefined && { code }),
    ...(retryAt !== undefined && { retryAfterMs: Math.max(0, retryAt - clock.now()) }),
  };
}

function reportCall(
  { ending, model, limits, request, clock, onEvent }: ModelCall,
  { startedAt, firstTextAt, usage: observed }: Progress,
  { usage, ...end }: CallEnd,
): void {
  onEvent({
    type: 'model_called',
    ...nameConversation(ending.lease.conversation),
    purpose: 'turn',
    model: model.profile.id,
    tokens: request.tokens,
    durationMs: clock.now() - startedAt,
    ...end,
    ...(firstTextAt !== undefined && { firstTextMs: firstTextAt - startedAt }),
    isOverLimit: limits.usable !== undefined && request.tokens > limits.usable,
    ...describeUsage(model.profile, usage ?? observed),
  });
}
