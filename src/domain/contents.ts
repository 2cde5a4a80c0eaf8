import type { EventScope } from './events.ts';
import type { Message, ToolCall } from './message.ts';

/** Contents of one call of a model or a tool. */
export type ContentEvent = EventScope &
  (
    | {
        readonly type: 'model_asked';
        readonly system: string;
        /** Context of the request, as it is sent. */
        readonly messages: readonly Message[];
      }
    | { readonly type: 'model_answered'; readonly content: string; readonly toolCalls: readonly ToolCall[] }
    | {
        readonly type: 'tool_asked';
        readonly name: string;
        readonly call: string;
        /** Arguments, as the model wrote them. */
        readonly arguments: string;
      }
    | {
        readonly type: 'tool_answered';
        readonly name: string;
        readonly call: string;
        /** Result, as the log holds it. */
        readonly content: string;
      }
  );

/** Receives the contents of calls. No other event carries contents: a user must ask for them by a separate setting. */
export type ContentListener = (event: ContentEvent) => void;
