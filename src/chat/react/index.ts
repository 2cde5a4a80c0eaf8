/** `turnfold/chat/react`: the hook of chat pages. It needs React 18 or later, and the `useChat` that a page passes in. */
export type {
  ChatHelpers,
  DurableChat,
  DurableChatOptions,
  DurableChatStatus,
  NewMessage,
  QueuedMessage,
  QueuedState,
  WaitingTurn,
} from './durable-chat.ts';
export { useDurableChat } from './use-durable-chat.ts';
