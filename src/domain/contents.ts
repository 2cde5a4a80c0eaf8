import type { EventScope } from './events.ts';
import type { Message, ToolCall } from './message.ts';

export type ContentEvent = EventScope &
  (
    | {
        readonly type: 'model_call_started';
        readonly system: string;
        /** Messages of the request, as the model receives them. */
        readonly messages: readonly Message[];
      }
    | { readonly type: 'model_answered'; readonly content: string; readonly toolCalls: readonly ToolCall[] }
    | {
        readonly type: 'tool_call_started';
        readonly name: string;
        readonly call: string;
        /** JSON arguments, exactly as the model wrote them. */
        readonly arguments: string;
      }
    | {
        readonly type: 'tool_answered';
        readonly name: string;
        readonly call: string;
        readonly content: string;
      }
  );

/** The only events with texts of messages and tool calls, so a separate setting enables them. */
export type ContentListener = (event: ContentEvent) => void;
