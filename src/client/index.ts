export { TurnfoldError } from '../domain/errors.ts';
export type { TurnView } from '../domain/turn.ts';
export type { Version } from '../domain/version.ts';
export type { Appended } from './appends.ts';
export type { TurnfoldClient } from './client.ts';
export type { ContextView } from './contexts.ts';
export type { AppendInput, CallAnswer, ConversationName, EnqueueInput } from './input.ts';
export { type ClientOptions, type OpenClient, openClient } from './open-client.ts';
export type { EnqueuedTurn } from './turns.ts';
