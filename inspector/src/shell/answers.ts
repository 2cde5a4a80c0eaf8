import type { AnswerBody } from '../../../src/api/contract/client.ts';

export type ConversationPage = AnswerBody<'conversations'>;
export type ListedConversation = ConversationPage['conversations'][number];
export type Conversation = AnswerBody<'describe'>;
export type Versions = AnswerBody<'versions'>;
export type Version = Versions['versions'][number];
export type MessagePage = AnswerBody<'log'>;
export type Fleet = AnswerBody<'showFleet'>;
export type OpenTurns = AnswerBody<'openTurns'>;
export type ShownTurn = AnswerBody<'showTurn'>;
export type RecordedStep = AnswerBody<'steps'>['steps'][number];
