import type { TurnContext } from '../domain/turn-context.ts';
import type { AppendInput, EnqueueInput } from './input.ts';
import type { ConversationsInput } from './listings.ts';

/** An agent as a type: `typeof agents` of `defineAgent`, or `{ name, context }` written by hand. */
export interface AgentType {
  /** A name that `enqueueTurn` accepts. */
  readonly name: string;
}

/** Agents of an untyped client: any name and any context. */
export type AnyAgents = readonly AgentType[];

/** The names in a list of agents. */
export type AgentName<Agents extends AnyAgents> = Agents[number]['name'];

/** The context that an agent's system prompt and tools require. */
type ContextOf<One> = One extends { readonly context: infer Context extends TurnContext }
  ? Context
  : One extends { readonly system: string | ((context: infer Context extends TurnContext) => unknown) }
    ? Context
    : TurnContext;

/** Optional if every field of the context is optional. */
type ContextPart<Context> =
  Partial<Context> extends Context ? { readonly context?: Context } : { readonly context: Context };

/** Agent and context of a turn, with the context that belongs to the agent. */
export type TurnOf<Agents extends AnyAgents> = {
  [One in Agents[number] as One['name']]: { readonly agent: One['name'] } & ContextPart<ContextOf<One>>;
}[AgentName<Agents>];

/** A turn to accept, for a client with typed agents. */
export type EnqueueFor<Agents extends AnyAgents> =
  string extends AgentName<Agents> ? EnqueueInput : Omit<EnqueueInput, 'agent' | 'context'> & TurnOf<Agents>;

/** Messages to append, for a client with typed agents. */
export type AppendFor<Agents extends AnyAgents> = NameAgent<AppendInput, Agents>;

/** Filters of a conversation listing, for a client with typed agents. */
export type ConversationsFor<Agents extends AnyAgents> = NameAgent<ConversationsInput, Agents>;

/** Narrows the `agent` field of an input to the names of the agents. */
type NameAgent<Input extends { readonly agent?: string | undefined }, Agents extends AnyAgents> = {
  [Field in keyof Input]: Field extends 'agent' ? AgentName<Agents> | Extract<Input[Field], undefined> : Input[Field];
};
