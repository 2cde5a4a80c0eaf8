import { createHash } from 'node:crypto';
import { limitSummaryCall, type SummaryCallLimits } from '../../compaction/summary-time.ts';
import type { Clock } from '../../domain/clock.ts';
import type { ModelOutcome } from '../../domain/events.ts';
import { findGate, isHeldBack } from '../../domain/held-call.ts';
import { FRAMING_TOKENS } from '../../domain/limits.ts';
import { isModelError, type Model, type ModelAnswer, type ModelUsage } from '../../domain/model.ts';
import { checkAnswer, readModelError, readModelUsage, readPassedOver } from '../../domain/model-answer.ts';
import type { CachedPrefix, SummaryRequest } from '../../domain/summarizer.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { noTracing, type Tracing } from '../../domain/tracing.ts';
import { describeUsage } from '../../domain/usage.ts';
import { untilAborted, type WatchedRequest } from '../../providers/answer-stream.ts';
import { enforcesSchemas, generateWithSchema } from './enforced-schema.ts';
import { ANSWER_SCHEMA } from './summary-answer.ts';

export interface ModelCallPorts {
  readonly model: Model;
  readonly clock: Clock;
  /** Milliseconds of silence that end a call. The whole time limit of a call follows from its size. */
  readonly callTimeoutMs?: number | undefined;
  readonly tracing?: Tracing | undefined;
}

export interface ModelCallInput {
  readonly system: string;
  readonly content: string;
  /**
   * Start of a request that the model has read before. A schema would void the provider's cache of this start, so only
   * the prompt asks for the form. Absent: the request is one message with a schema, without thinking.
   */
  readonly before?: Pick<CachedPrefix, 'tools' | 'messages' | 'version' | 'cache'>;
  readonly tokens: number;
  readonly maxOutputTokens: number;
}

type SummaryCallResult<Answer = ModelAnswer> =
  | { readonly status: 'answered'; readonly answer: Answer }
  | { readonly status: 'overflow'; readonly tokens: number }
  | { readonly status: 'failed'; readonly why: string };

/** Tokens of a request with one message, besides its texts. */
const FRAME_TOKENS = 4 + FRAMING_TOKENS;

/** @throws ModelError of kind `retry`, or the signal's reason */
export async function callSummaryModel(
  ports: ModelCallPorts,
  input: ModelCallInput,
  request: Pick<SummaryRequest, 'signal' | 'onCall' | 'onPassedOver' | 'gate'>,
): Promise<SummaryCallResult> {
  const { system, content, before, maxOutputTokens } = input;
  const tokens = input.tokens + FRAME_TOKENS;
  const { onPassedOver, gate } = request;
  const schema = enforcesSchemas(ports.model) ? { answerSchema: ANSWER_SCHEMA } : {};
  const start = before ?? { tools: [], messages: [], thinking: 'off' as const, ...schema };
  return await timeCall(ports, { tokens, maxOutputTokens }, request, async ({ signal, onUsage, onEvent }) => {
    const sent: WatchedRequest = {
      ...start,
      isSummary: true,
      system,
      messages: [...start.messages, { role: 'user', content }],
      tokens,
      maxOutputTokens,
      idempotencyKey: `summary-${hashTexts(system, content)}`,
      signal,
      onUsage,
      onEvent,
      onText: onEvent,
      onReasoning: onEvent,
      onToolCall: onEvent,
      ...(gate && { gate }),
      ...(onPassedOver && {
        onPassedOver(name: unknown, kind: unknown) {
          onEvent();
          const passed = readPassedOver(name, kind);
          onPassedOver(passed.model, passed.outcome);
        },
      }),
    };
    return checkAnswer(await generateWithSchema(ports.model, sent));
  });
}

export function hashTexts(...texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 32);
}

interface CallListeners {
  readonly signal: AbortSignal;
  readonly onUsage: (usage: ModelUsage) => void;
  readonly onEvent: () => void;
}

/** Without a stream, silence does not show that a call hangs. */
type TimedInput = Pick<ModelCallInput, 'tokens' | 'maxOutputTokens'> & { readonly isStreamed?: boolean };

interface CallEnd {
  readonly answer?: Pick<ModelAnswer, 'usage' | 'model'>;
  readonly error?: unknown;
}

/**
 * Ends a call at its time limit, even if the model does not react to its abort signal.
 * @throws ModelError of kind `retry`, or the signal's reason
 */
export function timeCall<Answer extends Pick<ModelAnswer, 'usage' | 'model' | 'nextCallAt'>>(
  ports: ModelCallPorts,
  input: TimedInput,
  request: Pick<SummaryRequest, 'signal' | 'onCall' | 'gate'>,
  call: (listeners: CallListeners) => Promise<Answer>,
): Promise<SummaryCallResult<Answer>> {
  const { model, tracing = noTracing } = ports;
  const { maxOutputTokens } = input;
  // A summarizing model reads the log's messages, not a compacted context.
  const about = { kind: 'model_call', profile: model.profile, maxOutputTokens, isCompacted: false } as const;
  return tracing.inSpan(about, () => runCall(ports, input, request, call));
}

async function runCall<Answer extends Pick<ModelAnswer, 'usage' | 'model' | 'nextCallAt'>>(
  { model, clock, callTimeoutMs }: ModelCallPorts,
  input: TimedInput,
  { signal: ended, onCall, gate }: Pick<SummaryRequest, 'signal' | 'onCall' | 'gate'>,
  call: (listeners: CallListeners) => Promise<Answer>,
): Promise<SummaryCallResult<Answer>> {
  const { tokens, maxOutputTokens } = input;
  const startedAt = clock.now();
  let counted: ModelUsage | undefined;
  const report = (outcome: ModelOutcome, { answer, error }: CallEnd): void => {
    const now = clock.now();
    const failure = isModelError(error) ? error : undefined;
    const retryAt = failure?.retryAt;
    onCall?.({
      model: model.profile.id,
      ...(answer?.model !== undefined && { answeredBy: answer.model }),
      outcome,
      durationMs: now - startedAt,
      ...(failure && { why: failure.message, ...(failure.code !== undefined && { code: failure.code }) }),
      ...(retryAt !== undefined && { retryAfterMs: Math.max(0, retryAt - now) }),
      tokens,
      isOverLimit: tokens > model.profile.windowTokens - maxOutputTokens,
      ...describeUsage(model.profile, answer?.usage ?? failure?.usage ?? counted),
    });
  };
  const deadline = new CallDeadline(limitCall(input, callTimeoutMs));
  const signal = AbortSignal.any([ended, deadline.signal]);
  const listeners: CallListeners = {
    signal,
    onEvent: deadline.noteEvent,
    onUsage(usage) {
      deadline.noteEvent();
      counted = readModelUsage(usage);
    },
  };
  try {
    const passing = () =>
      findGate({ gate }, model)?.pass(model, { tokens, signal }, () => call(listeners)) ?? call(listeners);
    const answer = await untilAborted(signal, () => callSafely(passing, clock));
    report('answered', { answer });
    return { status: 'answered', answer };
  } catch (error) {
    if (!isHeldBack(error)) report(nameOutcome(error, ended, deadline.signal), { error });
    ended.throwIfAborted();
    const { passedMs } = deadline;
    if (passedMs !== undefined) return { status: 'failed', why: `the model did not answer within ${passedMs} ms` };
    return readFailure(error, tokens);
  } finally {
    deadline.stop();
  }
}

function limitCall({ isStreamed = true, ...size }: TimedInput, callTimeoutMs: number | undefined): SummaryCallLimits {
  const limits = limitSummaryCall(size, callTimeoutMs);
  if (isStreamed) return limits;
  const totalMs = callTimeoutMs ?? limits.totalMs;
  return { totalMs, silenceMs: totalMs };
}

/** Calls a model, which may be user code that throws any value. */
async function callSafely<Answer>(call: () => Promise<Answer>, clock: Clock): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    throw readModelError(error, clock.now());
  }
}

function readFailure(error: unknown, tokens: number): Exclude<SummaryCallResult, { status: 'answered' }> {
  if (!isModelError(error)) return { status: 'failed', why: describeThrown(error).name };
  if (error.kind === 'retry') throw error;
  return error.kind === 'overflow'
    ? { status: 'overflow', tokens }
    : { status: 'failed', why: `${error.kind}: ${error.message}` };
}

function nameOutcome(error: unknown, ended: AbortSignal, timeout: AbortSignal): ModelOutcome {
  if (ended.aborted) return 'stopped';
  if (timeout.aborted) return 'timeout';
  return isModelError(error) ? error.kind : 'fatal';
}

class CallDeadline {
  readonly #ended = new AbortController();
  readonly #total: NodeJS.Timeout;
  readonly #silence: NodeJS.Timeout;
  #passedMs: number | undefined;

  constructor({ totalMs, silenceMs }: SummaryCallLimits) {
    this.#total = this.#abortAfter(totalMs);
    this.#silence = this.#abortAfter(silenceMs);
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  get passedMs(): number | undefined {
    return this.#passedMs;
  }

  readonly noteEvent = (): void => {
    if (!this.#ended.signal.aborted) this.#silence.refresh();
  };

  stop(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#silence);
  }

  #abortAfter(ms: number): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#passedMs ??= ms;
      this.#ended.abort(new Error('the model call took too long'));
    }, ms);
    timer.unref();
    return timer;
  }
}
