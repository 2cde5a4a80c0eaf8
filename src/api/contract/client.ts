import type { z } from 'zod';
import type { AnyAgents } from './agent-types.ts';
import type { ContextMethods } from './contexts.ts';
import { contextOperations } from './contexts.ts';
import { type TokenMethods, tokenOperations } from './conversation-tokens.ts';
import { type ConversationMethods, conversationOperations } from './conversations.ts';
import { type EnqueueMethods, enqueueOperations } from './enqueue.ts';
import { type InspectionMethods, inspectionOperations } from './inspection.ts';
import { type MessageMethods, messageOperations } from './messages.ts';
import type { Operation } from './operation.ts';
import { type ProposalMethods, proposalOperations } from './proposals.ts';
import { accessOperations, serverOperations } from './server.ts';
import { type StreamMethods, streamOperations } from './streams.ts';
import { type TurnMethods, turnOperations } from './turns.ts';
import { type VersionMethods, versionOperations } from './versions.ts';
import { type WorkDoneMethods, workDoneOperations } from './work-done.ts';

/**
 * API of turnfold for services. A conversation is named by its id, or by `{tenant, id}`. Every failure is a
 * `TurnfoldError` with a code. While Redis is unreachable, a call is retried for `deadlineMs` and then fails with
 * `redis_unavailable`. With the option `durability`, a write returns once enough replicas or disks have confirmed it.
 * Otherwise it fails with `accepted_unsure`, and the error has the id under which the call can be repeated.
 */
export interface TurnfoldClient<Agents extends AnyAgents = AnyAgents>
  extends EnqueueMethods<Agents>,
    TurnMethods<Agents>,
    StreamMethods,
    MessageMethods<Agents>,
    ContextMethods,
    ConversationMethods<Agents>,
    TokenMethods,
    VersionMethods,
    ProposalMethods,
    InspectionMethods,
    WorkDoneMethods {}

/** Methods as functions of what they need: ports to Redis, or a connection to a server. */
export type Methods<Ports> = {
  readonly [Name in keyof TurnfoldClient]?: (
    ports: Ports,
    ...input: Parameters<TurnfoldClient[Name]>
  ) => ReturnType<TurnfoldClient[Name]>;
};

export function bindMethods<Ports>(methods: Required<Methods<Ports>>, ports: Ports): TurnfoldClient {
  const bound = Object.entries(methods).map(([name, method]: [string, (...input: never[]) => unknown]) => [
    name,
    (...input: never[]) => method(ports as never, ...input),
  ]);
  return Object.fromEntries(bound) as TurnfoldClient; // `methods` has the function of every method
}

/** All operations, in the order of the OpenAPI document. `plan` has the route of `compact`. */
export const operations = {
  ...enqueueOperations,
  ...turnOperations,
  ...streamOperations,
  ...messageOperations,
  ...contextOperations,
  ...conversationOperations,
  ...tokenOperations,
  ...versionOperations,
  ...proposalOperations,
  ...inspectionOperations,
  ...workDoneOperations,
  ...serverOperations,
  ...accessOperations,
} satisfies Readonly<Record<Exclude<keyof TurnfoldClient, 'plan'>, Operation>> & Readonly<Record<string, Operation>>;

export type OperationName = keyof typeof operations;

export type AnswerBody<Name extends OperationName> = z.infer<(typeof operations)[Name]['answer']>;
