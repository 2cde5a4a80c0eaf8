import { type OperationName, operations } from '../contract/client.ts';
import { answerByClient } from './call-client.ts';
import { contextHandlers } from './handlers/contexts.ts';
import { conversationHandlers } from './handlers/conversations.ts';
import { streamHandlers } from './handlers/streams.ts';
import { turnHandlers } from './handlers/turns.ts';
import type { Handlers, Route } from './route.ts';

const handlers: Handlers = { ...turnHandlers, ...streamHandlers, ...contextHandlers, ...conversationHandlers };

/** Every operation of the contract. An operation without a handler is a plain call of the client's method. */
export const routes: readonly Route[] = Object.entries(operations).map(([name, row]) => {
  const operation = name as OperationName;
  return { ...row, operation, handle: handlers[operation] ?? answerByClient };
});
