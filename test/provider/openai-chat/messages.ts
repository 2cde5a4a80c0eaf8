import { isObject, type JsonObject, readObjects, readText } from '../json.ts';

export interface PlacedMessage {
  readonly message: JsonObject;
  readonly role: string;
  readonly index: number;
  readonly calls: readonly PlacedCall[];
}

export interface PlacedCall {
  readonly id: string;
  readonly function: JsonObject;
  /** Path such as `messages[1].tool_calls[0]`. */
  readonly path: string;
}

export function readMessages(body: JsonObject): PlacedMessage[] {
  return readObjects(body['messages']).map((message, index) => ({
    message,
    role: readText(message['role']),
    index,
    calls: readObjects(message['tool_calls']).map((call, position) => ({
      id: readText(call['id']),
      function: isObject(call['function']) ? call['function'] : {},
      path: `messages[${index}].tool_calls[${position}]`,
    })),
  }));
}

export function isSystem({ role }: PlacedMessage): boolean {
  return role === 'system' || role === 'developer';
}

/** Returns the messages of the current tool loop: those after the last user message. */
export function readOpenLoop(messages: readonly PlacedMessage[]): PlacedMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
}
