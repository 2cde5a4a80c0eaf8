import { findGate } from '../domain/held-call.ts';
import { isModelError, type Model, type ModelError, type ModelPrices, type ModelProfile } from '../domain/model.ts';
import { checkAnswer, readModelError, refuseEmptyAnswer } from '../domain/model-answer.ts';
import { pricesAt } from '../domain/usage.ts';
import { type Delays, generateUnlessSilent, systemDelays } from './answer-stream.ts';

export interface ChainOptions {
  /**
   * Milliseconds without an event after which the next model is tried (default 120,000). The last model has no limit.
   */
  readonly firstEventMs?: number;
  /** Timers for `firstEventMs`, which tests replace. */
  readonly timers?: Delays;
}

/** A fifth of the deadline for a model call, which leaves most of it for the next model. */
const FIRST_EVENT_MS = 120_000;

/**
 * Returns a model that tries several models in order.
 * - It tries the next model after an overload, a rate limit, silence, an empty answer, or a refused key, quota or
 *   setting.
 * - It passes over a model whose gate holds calls.
 * - It stops at a request that is too large or malformed, which the next provider would refuse as well.
 * - If all models fail, it throws the `retry` error with the earliest retry time, or else the last error.
 * - A chain inside a chain counts as one model: its models share that model's time.
 */
export function modelChain(
  models: readonly [Model, ...Model[]],
  { firstEventMs = FIRST_EVENT_MS, timers = systemDelays }: ChainOptions = {},
): Model {
  return {
    profile: narrowest(models.map(({ profile }) => profile) as [ModelProfile, ...ModelProfile[]]),
    fallbacks: models,
    async generate(request) {
      const failures: ModelError[] = [];
      for (const [index, model] of models.entries()) {
        const isLast = index === models.length - 1;
        try {
          const call = async () =>
            checkAnswer(
              await (isLast ? model.generate(request) : generateUnlessSilent(model, request, { firstEventMs, timers })),
            );
          const answer = await (findGate(request, model)?.pass(model, request, call) ?? call());
          if (!isLast) refuseEmptyAnswer(answer);
          return { ...answer, model: answer.model ?? model.profile.id };
        } catch (thrown) {
          if (request.signal.aborted || !isPassedOver(thrown)) throw thrown;
          const error = readModelError(thrown, Date.now());
          failures.push(error);
          if (!isLast) request.onPassedOver?.(model.profile.id, error.kind);
        }
      }
      throw soonest(failures);
    },
  };
}

function isPassedOver(error: unknown): error is ModelError {
  return isModelError(error, 'retry') || isModelError(error, 'fatal');
}

/** An error without a retry time comes first: the turn then waits seconds, while a rate limit may ask for an hour. */
function soonest(failures: readonly ModelError[]): ModelError {
  const retries = failures.filter(({ kind }) => kind === 'retry');
  const [first] = retries.toSorted((a, b) => (a.retryAt ?? 0) - (b.retryAt ?? 0));
  return first ?? (failures.at(-1) as ModelError);
}

/** Returns the chain's profile: the smallest limit of any model, and `format` only if all models share one. */
function narrowest(profiles: readonly [ModelProfile, ...ModelProfile[]]): ModelProfile {
  const [first] = profiles;
  const least = (of: (profile: ModelProfile) => number): number => Math.min(...profiles.map(of));
  const caps = profiles.flatMap(({ maxRequestBytes }) => (maxRequestBytes === undefined ? [] : [maxRequestBytes]));
  const prices = profiles.flatMap((profile) => (profile.prices === undefined ? [] : [profile.prices]));
  const tokenFactor = Math.max(...profiles.map((profile) => profile.tokenFactor ?? 1));
  const [retiresOn] = profiles.flatMap((profile) => profile.retiresOn ?? []).toSorted();
  const formats = new Set(profiles.map(({ format }) => format));
  return {
    id: profiles.map(({ id }) => id).join('|'),
    encoding: first.encoding,
    windowTokens: least(({ windowTokens }) => windowTokens),
    outputCapTokens: least(({ outputCapTokens }) => outputCapTokens),
    upperBoundFactor: Math.max(...profiles.map(({ upperBoundFactor }) => upperBoundFactor)),
    ...(caps.length === 0 ? {} : { maxRequestBytes: Math.min(...caps) }),
    ...(prices.length < profiles.length ? {} : { prices: dearest(prices) }),
    ...(tokenFactor > 1 ? { tokenFactor } : {}),
    ...(retiresOn === undefined ? {} : { retiresOn }),
    ...(formats.size === 1 && first.format !== undefined ? { format: first.format } : {}),
  };
}

function dearest(prices: readonly ModelPrices[]): ModelPrices {
  const sizes = new Set(prices.flatMap(({ steps = [] }) => steps.map(({ aboveInputTokens }) => aboveInputTokens)));
  const steps = [...sizes]
    .toSorted((a, b) => a - b)
    .map((size) => ({ aboveInputTokens: size, ...dearestAt(prices, size + 1) }));
  return { ...dearestAt(prices, 0), ...(steps.length === 0 ? {} : { steps }) };
}

function dearestAt(prices: readonly ModelPrices[], inputTokens: number): Omit<ModelPrices, 'steps'> {
  const most = (of: (price: Omit<ModelPrices, 'steps'>) => number): number =>
    Math.max(...prices.map((price) => of(pricesAt(price, inputTokens))));
  return {
    input: most(({ input }) => input),
    cachedInput: most(({ cachedInput }) => cachedInput),
    cacheWrite: most(({ cacheWrite }) => cacheWrite),
    output: most(({ output }) => output),
  };
}
