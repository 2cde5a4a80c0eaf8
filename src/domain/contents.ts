import type { EventScope } from './events.ts';
import type { Message, ToolCall } from './message.ts';

/** What was said in a call of a model or a tool. */
export type ContentEvent = EventScope &
  (
    | {
        readonly type: 'model_asked';
        /** the system prompt */

        readonly system: string;
        /** the context as it is sent */

        readonly messages: readonly Message[];
      }
    | {
        readonly type: 'model_answered';
        /** the text of the answer */

        readonly content: string;
        /** the calls that the model made */

        readonly toolCalls: readonly ToolCall[];
      }
    | {
        readonly type: 'tool_asked';
        /** the tool */

        readonly name: string;
        /** id of the call */

        readonly call: string;
        /** as the model wrote them */

        readonly arguments: string;
      }
    | {
        readonly type: 'tool_answered';
        /** the tool */

        readonly name: string;
        /** id of the call */

        readonly call: string;
        /** the result as the log has it */

        readonly content: string;
      }
  );

/** Contents are in no event: they go to whoever asked for them by a setting of its own, and to nobody else. */
export type ContentListener = (event: ContentEvent) => void;
