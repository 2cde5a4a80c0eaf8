import { isModelError, type Model, type ModelError, type ModelPrices, type ModelProfile } from '../domain/model.ts';
import { checkAnswer, readModelError } from '../domain/model-answer.ts';
import { type Delays, generateUnlessSilent, systemDelays } from './answer-stream.ts';

export interface ChainOptions {
  /** how long a model, the last one aside, may be silent before the first event of its answer (default 120,000) */
  readonly firstEventMs?: number;
  /** for tests: how time passes */
  readonly timers?: Delays;
}

/** A fifth of the time that a step has: the next one still has the most of it. */
const FIRST_EVENT_MS = 120_000;

/**
 * Models that stand in for each other, tried in order. A model that is overloaded, limited, away, silent, or not to be had (its
 * key, its quota) is passed over; one that finds the request too large or malformed is not, since the next would find the same.
 * Where all fail the turn is told the soonest time to come back, and none where one of them names none: that one may be back
 * at any moment. Where no wait helps it is told what the last one said. A chain in a chain has one model's time for all of
 * its own.
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
        // The last one is nobody's to leave: it has what its caller gives it.
        const isLast = index === models.length - 1;
        try {
          const answer = checkAnswer(
            await (isLast ? model.generate(request) : generateUnlessSilent(model, request, { firstEventMs, timers })),
          );
          return { ...answer, model: answer.model ?? model.profile.id };
        } catch (thrown) {
          // Aborted: whatever it throws then says nothing of the model.
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

/** One that names no time comes first: its caller's backoff is seconds, a limit may name an hour. */
function soonest(failures: readonly ModelError[]): ModelError {
  const retries = failures.filter(({ kind }) => kind === 'retry');
  const [first] = retries.toSorted((a, b) => (a.retryAt ?? 0) - (b.retryAt ?? 0));
  return first ?? (failures.at(-1) as ModelError); // a chain has at least one model
}

/** What holds whichever of them answers. They share a format, or have none as a chain. */
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
