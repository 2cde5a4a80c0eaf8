import { type TurnContext, writeTurnContext } from '../../domain/turn-context.ts';
import type { EnqueueInput, TurnfoldClient } from '../client/index.ts';
import type { Caller } from './caller.ts';
import { HttpProblem } from './problem.ts';

/**
 * Returns the context data of a turn that a request begins. Undefined: none. The request has its headers, but not its
 * body. A repeated request needs the same data, or it conflicts with the turn that it began.
 */
export type ContextFor = (
  request: Request,
  caller: Caller,
) => TurnContext | undefined | Promise<TurnContext | undefined>;

/** Finds the context data of a request. The function of the app is called at most once. */
export type FindContext = () => Promise<TurnContext | undefined>;

export function findContextOnce(contextFor: ContextFor, request: Request, caller: Caller): FindContext {
  let asked: Promise<TurnContext | undefined> | undefined;
  return async () => {
    asked ??= readContext(contextFor, request, caller);
    return await asked;
  };
}

/** Returns a client that adds context data to each turn without data of its own. */
export function withContext(client: TurnfoldClient, find: FindContext): TurnfoldClient {
  const complete = async <Input extends Pick<EnqueueInput, 'context'>>(input: Input): Promise<Input> => {
    const context = input.context === undefined ? await find() : undefined;
    return context === undefined ? input : { ...input, context };
  };
  const begun: Partial<TurnfoldClient> = {
    enqueueTurn: async (input) => await client.enqueueTurn(await complete(input)),
    enqueueTurns: async (inputs) => await client.enqueueTurns(await Promise.all(inputs.map(complete))),
    redrive: async (name, turn, input = {}) =>
      await client.redrive(name, turn, await complete(input as Pick<EnqueueInput, 'context'>)),
  };
  return new Proxy(client, {
    get: (target, name): unknown => {
      if (Object.hasOwn(begun, name)) return Reflect.get(begun, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A caller sees an `HttpProblem` of the function. Any other error is a defect of the server, which answers 500. */
async function readContext(
  contextFor: ContextFor,
  { url, headers }: Request,
  caller: Caller,
): Promise<TurnContext | undefined> {
  try {
    const context = await contextFor(new Request(url, { headers }), caller);
    if (context !== undefined) writeTurnContext(context, 'contextFor');
    return context;
  } catch (error) {
    if (error instanceof HttpProblem) throw error;
    throw new Error('contextFor failed, or returned no JSON object of at most 16 KiB', { cause: error });
  }
}
