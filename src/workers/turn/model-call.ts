import type { ModelOutcome, WorkerEvent } from '../../domain/events.ts';
import { findGate, isHeldBack, isHeldCall } from '../../domain/held-call.ts';
import { nameConversation } from '../../domain/ids.ts';
import {
  isModelError,
  type Model,
  type ModelAnswer,
  ModelError,
  type ModelRequest,
  type ModelUsage,
} from '../../domain/model.ts';
import {
  checkAnswer,
  readModelError,
  readModelUsage,
  readPassedOver,
  readToolCallPiece,
  refuseEmptyAnswer,
} from '../../domain/model-answer.ts';
import { describeUsage } from '../../domain/usage.ts';
import { StoppedWork } from '../shutdown.ts';
import { LostTurn, StepTimeout, type TurnGuard } from './turn-guard.ts';
import type { ModelFailure, RunningTurn } from './turn-states.ts';

type ModelCallResult =
  | { readonly status: 'answered'; readonly answer: ModelAnswer }
  | { readonly status: 'failed'; readonly failure: ModelFailure };

type Listeners = Pick<ModelRequest, 'onText' | 'onReasoning' | 'onToolCall'>;

interface ModelCall {
  readonly run: RunningTurn;
  readonly model: Model;
  readonly request: Omit<ModelRequest, 'signal'> & Required<Listeners>;
  readonly isCompacted: boolean;
}

/** @throws LostTurn if the turn ends during the call. StoppedWork if the worker stops. */
export async function callModel(call: ModelCall): Promise<ModelCallResult> {
  const { run, model, isCompacted, request } = call;
  const { guard, ports, settings } = run;
  const { maxOutputTokens } = request;
  const about = { kind: 'model_call', profile: model.profile, maxOutputTokens, isCompacted } as const;
  return await ports.tracing.inSpan(about, async () => {
    const { observed, progress } = observeRequest(call);
    try {
      const answer = await guard.call(settings.stepTimeoutMs, generateWith(call, observed));
      const { content, toolCalls, usage, model: answeredBy } = answer;
      reportCall(call, progress, { outcome: 'answered', usage, ...(answeredBy !== undefined && { answeredBy }) });
      ports.onContent?.({ type: 'model_answered', ...guard.scope, content, toolCalls });
      return { status: 'answered', answer };
    } catch (error) {
      if (!isHeldBack(error)) reportCall(call, progress, describeError(error, run));
      guard.throwIfEnded();
      return { status: 'failed', failure: readFailure(error) };
    }
  });
}

/** Calls the model, which may be any code. @throws ModelError for every error and every malformed answer */
function generateWith({ run: { guard, ports }, model }: ModelCall, observed: Omit<ModelRequest, 'signal'>) {
  return async (signal: AbortSignal): Promise<ModelAnswer> => {
    const request = { ...observed, signal };
    try {
      const generate = async (): Promise<ModelAnswer> => {
        const { system, messages } = request;
        ports.onContent?.({ type: 'model_call_started', ...guard.scope, system, messages });
        return checkAnswer(await model.generate(request));
      };
      const answer = await (findGate(request, model)?.pass(model, request, generate) ?? generate());
      refuseEmptyAnswer(answer);
      return answer;
    } catch (error) {
      throw readModelError(error, ports.clock.now());
    }
  };
}

interface Progress {
  readonly startedAt: number;
  firstTextAt: number | undefined;
  usage: ModelUsage | undefined;
}

function observeRequest({ run, request }: ModelCall) {
  const { clock, onEvent } = run.ports;
  const { conversation } = run.guard.lease;
  const progress: Progress = { startedAt: clock.now(), firstTextAt: undefined, usage: undefined };
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
    onText(piece: unknown) {
      // A piece that is not text is ignored here, because the model's whole answer is checked later.
      if (typeof piece !== 'string') return;
      progress.firstTextAt ??= clock.now();
      request.onText(piece);
    },
    onReasoning(piece: unknown) {
      if (typeof piece === 'string') request.onReasoning(piece);
    },
    onToolCall(piece: unknown) {
      const read = readToolCallPiece(piece);
      if (read !== undefined) request.onToolCall(read);
    },
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

function outcomeOf(error: unknown, guard: TurnGuard): ModelOutcome {
  if (error instanceof LostTurn) return 'lost';
  if (error instanceof StoppedWork || guard.callsEnd.aborted) return 'stopped';
  if (error instanceof StepTimeout) return 'timeout';
  return isModelError(error) ? error.kind : 'fatal';
}

type CalledEvent = Extract<WorkerEvent, { readonly type: 'model_called' }>;

/** How a call ended. Without `usage`, the usage that the model reported last during the call counts. */
interface CallEnd extends Pick<CalledEvent, 'outcome' | 'answeredBy' | 'why' | 'code' | 'retryAfterMs'> {
  readonly usage: ModelUsage | undefined;
}

function describeError(error: unknown, { guard, ports }: RunningTurn): CallEnd {
  const outcome = outcomeOf(error, guard);
  if (!isModelError(error)) return { outcome, usage: undefined };
  const { message, code, retryAt, usage } = error;
  return {
    outcome,
    usage,
    why: message,
    ...(code !== undefined && { code }),
    ...(retryAt !== undefined && { retryAfterMs: Math.max(0, retryAt - ports.clock.now()) }),
  };
}

function reportCall(
  { run, model, request }: ModelCall,
  { startedAt, firstTextAt, usage: observed }: Progress,
  { usage, ...end }: CallEnd,
): void {
  const { clock, onEvent } = run.ports;
  const { usable } = run.prepared.limits;
  onEvent({
    type: 'model_called',
    ...nameConversation(run.guard.lease.conversation),
    purpose: 'turn',
    model: model.profile.id,
    tokens: request.tokens,
    durationMs: clock.now() - startedAt,
    ...end,
    ...(firstTextAt !== undefined && { firstTextMs: firstTextAt - startedAt }),
    isOverLimit: usable !== undefined && request.tokens > usable,
    ...describeUsage(model.profile, usage ?? observed),
  });
}
