import { isModelError, type Model, type ModelError, type ModelPrices, type ModelProfile } from '../domain/model.ts';
import { checkAnswer, readModelError } from '../domain/model-answer.ts';
import { type Delays, generateUnlessSilent, systemDelays } from './answer-stream.ts';

export interface ChainOptions {
  /** Longest silence before a model's first event, in ms. Does not apply to the last model. Default 120,000. */
  readonly firstEventMs?: number;
  /** Timers. Replaced in tests. */
  readonly timers?: Delays;
}

/** A fifth of a step's deadline, so that the next model has most of the deadline. */
const FIRST_EVENT_MS = 120_000;

/**
 * Returns a model that tries several models in order. It passes over a model that is overloaded, rate limited,
 * unreachable, silent, or refuses its key or quota. It does not pass over a model that refuses the request as too large
 * or malformed, because the next would too. If all fail, the error is the `retry` that may be repeated soonest,
 * otherwise the last error. A chain inside a chain has one model's time for all of its models.
 */
export function modelChain(
  models: readonly [Model, ...Model[]],
  { firstEventMs = FIRST_EVENT_MS, timers = systemDelays }: ChainOptions = {},
): Model {
  return {
    profile: narrowest(models.map(({ profile }) => profile) as [ModelProfile, ...ModelProfile[]]),
    async generate(request) {
      const failures: ModelError[] = [];
      for (const [index, model] of models.entries()) {
        // The last model has no silence limit: only the caller's deadline ends it.
        const isLast = index === models.length - 1;
        try {
          const answer = checkAnswer(
            await (isLast ? model.generate(request) : generateUnlessSilent(model, request, { firstEventMs, timers })),
          );
          return { ...answer, model: answer.model ?? model.profile.id };
        } catch (thrown) {
          // After an abort, any error is the abort's, and says nothing about the model.
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

/** An error without a retry time sorts first: the caller then waits seconds, while a rate limit may name an hour. */
function soonest(failures: readonly ModelError[]): ModelError {
  const retries = failures.filter(({ kind }) => kind === 'retry');
  const [first] = retries.toSorted((a, b) => (a.retryAt ?? 0) - (b.retryAt ?? 0));
  return first ?? (failures.at(-1) as ModelError); // a chain has at least one model
}

/** Combines limits that hold for every model. `format` is set only if all models share one format. */
function narrowest(profiles: readonly [ModelProfile, ...ModelProfile[]]): ModelProfile {
  const [first] = profiles;
  const least = (of: (profile: ModelProfile) => number): number => Math.min(...profiles.map(of));
  const caps = profiles.flatMap(({ maxRequestBytes }) => (maxRequestBytes === undefined ? [] : [maxRequestBytes]));
  const prices = profiles.flatMap((profile) => (profile.prices === undefined ? [] : [profile.prices]));
  const formats = new Set(profiles.map(({ format }) => format));
  return {
    id: profiles.map(({ id }) => id).join('|'),
    encoding: first.encoding,
    windowTokens: least(({ windowTokens }) => windowTokens),
    outputCapTokens: least(({ outputCapTokens }) => outputCapTokens),
    upperBoundFactor: Math.max(...profiles.map(({ upperBoundFactor }) => upperBoundFactor)),
    ...(caps.length === 0 ? {} : { maxRequestBytes: Math.min(...caps) }),
    ...(prices.length < profiles.length ? {} : { prices: dearest(prices) }),
    ...(formats.size === 1 && first.format !== undefined ? { format: first.format } : {}),
  };
}

function dearest(prices: readonly ModelPrices[]): ModelPrices {
  const most = (of: (price: ModelPrices) => number): number => Math.max(...prices.map(of));
  return {
    input: most(({ input }) => input),
    cachedInput: most(({ cachedInput }) => cachedInput),
    cacheWrite: most(({ cacheWrite }) => cacheWrite),
    output: most(({ output }) => output),
  };
}
