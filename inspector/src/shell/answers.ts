import type { z } from 'zod';
import type {
  conversationPageSchema,
  conversationSchema,
  versionsSchema,
} from '../../../src/api/http/answers/conversations.ts';
import type { fleetSchema } from '../../../src/api/http/answers/fleet.ts';
import type { messagePageSchema } from '../../../src/api/http/answers/messages.ts';
import type { openTurnsSchema } from '../../../src/api/http/answers/turns.ts';

/** Answers of the routes. Types only: the schemas themselves stay in the server. */
export type ConversationPage = z.infer<typeof conversationPageSchema>;
export type ListedConversation = ConversationPage['conversations'][number];
export type Conversation = z.infer<typeof conversationSchema>;
export type Version = z.infer<typeof versionsSchema>['versions'][number];
export type Versions = z.infer<typeof versionsSchema>;
export type MessagePage = z.infer<typeof messagePageSchema>;
export type Fleet = z.infer<typeof fleetSchema>;
export type OpenTurns = z.infer<typeof openTurnsSchema>;
