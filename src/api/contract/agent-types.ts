import type { AnswerSchema } from '../../domain/final-answer.ts';
import type { TurnView } from '../../domain/turn.ts';
import type { TurnContext } from '../../domain/turn-context.ts';
import type { EnqueueInput } from './enqueue-input.ts';

/** An element of `typeof agents` from `defineAgent`, or `{ name, context }` written by hand. */
export interface AgentType {
  /** Name of the agent, as `enqueueTurn` accepts it. */
  readonly name: string;
}

/** Without type parameter, a client accepts any agent name and any context. */
export type AnyAgents = readonly AgentType[];

export type AgentName<Agents extends AnyAgents> = Agents[number]['name'];

/** Type of the `context` that the agent's system prompt and tools require. */
type ContextOf<One> = One extends { readonly context: infer Context extends TurnContext }
  ? Context
  : One extends { readonly system: string | ((context: infer Context extends TurnContext) => unknown) }
    ? Context
    : TurnContext;

type ContextPart<Context> =
  Partial<Context> extends Context ? { readonly context?: Context } : { readonly context: Context };

/** The compiler accepts only the context type of the named agent. */
export type TurnOf<Agents extends AnyAgents> = {
  [One in Agents[number] as One['name']]: { readonly agent: One['name'] } & ContextPart<ContextOf<One>>;
}[AgentName<Agents>];

export type EnqueueFor<Agents extends AnyAgents> =
  string extends AgentName<Agents> ? EnqueueInput : Omit<EnqueueInput, 'agent' | 'context'> & TurnOf<Agents>;

type AnswerOf<One> = One extends { readonly answer?: AnswerSchema<infer Value> } ? Value : unknown;

/** If `agent` is compared with a name, `answer.value` has the type of that agent's answers. */
export type ViewFor<Agents extends AnyAgents> =
  string extends AgentName<Agents>
    ? TurnView
    : {
        [One in Agents[number] as One['name']]: TurnView<AnswerOf<One>> & { readonly agent: One['name'] };
      }[AgentName<Agents>];

/** Replaces the type `string` of `agent` by the names of the client's agents. */
export type NameAgent<Input extends { readonly agent?: string | undefined }, Agents extends AnyAgents> = {
  [Field in keyof Input]: Field extends 'agent' ? AgentName<Agents> | Extract<Input[Field], undefined> : Input[Field];
};
