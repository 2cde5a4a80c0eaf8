import type { TurnContext } from '../domain/turn-context.ts';
import type { AppendInput, EnqueueInput } from './input.ts';
import type { ConversationsInput } from './listings.ts';

/** What a client knows of an agent as a type: `typeof agents` of `defineAgent`, or `{ name, context }` written by hand. */
export interface AgentType {
  /** the names that `enqueueTurn` accepts */
  readonly name: string;
}

/** Default agents of an untyped client: any name and any context. */
export type AnyAgents = readonly AgentType[];

/** The names of a list of agents. */
export type AgentName<Agents extends AnyAgents> = Agents[number]['name'];

/** The context of one agent: what its system prompt and its tools ask for. */
type ContextOf<One> = One extends { readonly context: infer Context extends TurnContext }
  ? Context
  : One extends { readonly system: string | ((context: infer Context extends TurnContext) => unknown) }
    ? Context
    : TurnContext;

/** A context that asks for nothing may be left out. */
type ContextPart<Context> =
  Partial<Context> extends Context ? { readonly context?: Context } : { readonly context: Context };

/** Agent and context of a turn: of several agents each with its own. */
export type TurnOf<Agents extends AnyAgents> = {
  [One in Agents[number] as One['name']]: { readonly agent: One['name'] } & ContextPart<ContextOf<One>>;
}[AgentName<Agents>];

/** A turn to accept, by a client that knows its agents. */
export type EnqueueFor<Agents extends AnyAgents> =
  string extends AgentName<Agents> ? EnqueueInput : Omit<EnqueueInput, 'agent' | 'context'> & TurnOf<Agents>;

/** Messages to add, by a client that knows its agents. */
export type AppendFor<Agents extends AnyAgents> = NameAgent<AppendInput, Agents>;

/** Which conversations to list, by a client that knows its agents. */
export type ConversationsFor<Agents extends AnyAgents> = NameAgent<ConversationsInput, Agents>;

/** An input whose `agent`, where it has one, is one of the agents. */
type NameAgent<Input extends { readonly agent?: string | undefined }, Agents extends AnyAgents> = {
  [Field in keyof Input]: Field extends 'agent' ? AgentName<Agents> | Extract<Input[Field], undefined> : Input[Field];
};
