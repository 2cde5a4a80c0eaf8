/** `turnfold/chat`: the transport of chat pages. It runs in browsers, and depends on no other package. */
export { ChatError } from './chat-error.ts';
export { createDurableTransport } from './durable-transport.ts';
export type {
  AcceptOptions,
  AnswerCallsOptions,
  ChatHistory,
  ChatNews,
  DurableTransport,
  DurableTransportOptions,
  FollowChatOptions,
  LoadOptions,
  OpenChatTurn,
  PageAnswer,
  ReconnectOptions,
  RequestExtras,
  SendOptions,
  ShownWaitingCall,
  StopOptions,
  TransportMessage,
} from './transport-types.ts';
