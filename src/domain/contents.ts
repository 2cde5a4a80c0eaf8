import type { EventScope } from './events.ts';
import type { Message, ToolCall } from './message.ts';

/** What was said in a call of a model or a tool. */
export type ContentEvent = EventScope &
  (
    | { readonly type: 'model_asked'; readonly system: string; readonly messages: readonly Message[] }
    | { readonly type: 'model_answered'; readonly content: string; readonly toolCalls: readonly ToolCall[] }
    | { readonly type: 'tool_asked'; readonly name: string; readonly call: string; readonly arguments: string }
    | { readonly type: 'tool_answered'; readonly name: string; readonly call: string; readonly content: string }
  );

/** Contents are in no event: they go to whoever asked for them by a setting of its own, and to nobody else. */
export type ContentListener = (event: ContentEvent) => void;
