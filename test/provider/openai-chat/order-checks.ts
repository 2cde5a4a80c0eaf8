/**
 * Checks the order of roles, tool calls, results and reasoning (wire rules X1, X4, X5, X6, C1, C2,
 * C4, C5, C7).
 */
import { type JsonObject, readText } from '../json.ts';
import { refuse, refuseLongText, refuseMissing, refuseType } from '../openai/refuse.ts';
import { checkArguments, checkName } from '../openai/shared-checks.ts';
import type { CheckContext, Refusal } from '../refusal.ts';
import { isSystem, type PlacedMessage, readMessages, readOpenLoop } from './messages.ts';

/**
 * Maximum length of a tool call id. OpenAI allows 64 characters for some models, but Azure and Copilot still allow only
 * 40.
 */
const MAX_ID_LENGTH = 40;

export function* checkOrder(
  body: JsonObject,
  { hasStrictTemplate, takesLaterSystem }: CheckContext,
): Iterable<Refusal> {
  const messages = readMessages(body);
  const start = messages.findIndex((message) => !isSystem(message));
  const misplaced = start < 0 ? undefined : messages.slice(start).find(isSystem);
  if (misplaced !== undefined && (hasStrictTemplate || !takesLaterSystem))
    yield refuse('C5', 'System message must be at the beginning.');
  const spoken = messages.filter((message) => !isSystem(message));
  if (!spoken.some(({ role }) => role === 'user')) yield refuse('X5', 'No user query found in messages.');
  if (spoken[0]?.role === 'assistant') {
    yield refuse('X5', 'Conversation roles must alternate user/assistant/user/assistant/...');
  }
  if (messages.at(-1)?.role === 'assistant' && messages.at(-1)?.calls.length === 0) {
    yield {
      ...refuse('X4', 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'),
      type: 'invalid_request_message_order',
      code: '3230',
    };
  }
}

/**
 * Checks the order that strict chat templates of open-weight models require: one system message, then alternating user
 * and assistant messages. Tool calls and results may come between them.
 */
export function* checkTemplate(body: JsonObject, { hasStrictTemplate }: CheckContext): Iterable<Refusal> {
  if (!hasStrictTemplate) return;
  const messages = readMessages(body);
  const alternating = messages
    .slice(isSystem(messages[0] as PlacedMessage) ? 1 : 0)
    .filter(({ role, calls }) => role !== 'tool' && calls.length === 0);
  for (const [index, { role }] of alternating.entries()) {
    if (role !== (index % 2 === 0 ? 'user' : 'assistant')) {
      yield refuse(
        'C5',
        'After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.',
      );
    }
  }
  const jump = messages.find(({ role, index }) => role === 'user' && messages[index - 1]?.role === 'tool');
  if (jump !== undefined) {
    const message = "Unexpected role 'user' after role 'tool'";
    yield { ...refuse('C5', message), type: 'invalid_request_message_order', code: '3230' };
  }
}

export function* checkCalls(body: JsonObject): Iterable<Refusal> {
  const messages = readMessages(body);
  for (const { calls } of messages) {
    for (const { id, function: called, path } of calls) {
      if (id === '') yield refuseMissing('X1', `${path}.id`);
      if (id.length > MAX_ID_LENGTH) yield refuseLongText('X1', `${path}.id`, id, MAX_ID_LENGTH);
      yield* checkName(`${path}.function.name`, readText(called['name']));
      yield* checkArguments('C4', `${path}.function.arguments`, called['arguments']);
    }
  }
  yield* checkUnique(messages);
}

function* checkUnique(messages: readonly PlacedMessage[]): Iterable<Refusal> {
  const owners = new Map<string, number>();
  for (const { calls, index } of messages) {
    for (const { id } of calls) {
      const owner = owners.get(id);
      if (owner !== undefined) yield refuseDuplicate(id, owner, index);
      owners.set(id, index);
    }
  }
}

function refuseDuplicate(id: string, first: number, second: number): Refusal {
  return refuse(
    'X1',
    `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in messages[${first}] and messages[${second}].`,
    { param: `messages.[${second}].tool_call_id` },
  );
}

export function* checkPairs(body: JsonObject): Iterable<Refusal> {
  const messages = readMessages(body);
  for (const message of messages) {
    if (message.role === 'tool') yield* checkCalled(message, messages);
    else if (message.calls.length > 0) yield* checkAnswered(message, messages);
  }
}

function* checkAnswered({ calls, index }: PlacedMessage, messages: readonly PlacedMessage[]): Iterable<Refusal> {
  const end = messages.findIndex((other) => other.index > index && other.role !== 'tool');
  const results = messages.slice(index + 1, end < 0 ? undefined : end);
  const answered = new Set(results.map(({ message }) => message['tool_call_id']));
  const open = calls.map(({ id }) => id).filter((id) => !answered.has(id));
  if (open.length > 0) {
    yield refuse(
      'C1',
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`,
      { param: `messages.[${end < 0 ? index + 1 : end}].role` },
    );
  }
}

function* checkCalled({ message, index }: PlacedMessage, messages: readonly PlacedMessage[]): Iterable<Refusal> {
  const caller = messages.slice(0, index).findLast(({ role }) => role !== 'tool');
  if (caller === undefined || caller.calls.length === 0) {
    yield refuse(
      'C2',
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      { param: `messages.[${index}].role` },
    );
    return;
  }
  const id = readText(message['tool_call_id']);
  if (!caller.calls.some((call) => call.id === id)) {
    yield refuse('C2', `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`, {
      param: `messages.[${index}].tool_call_id`,
    });
  }
  const earlier = messages.slice(caller.index, index).find((other) => other.message['tool_call_id'] === id);
  if (earlier !== undefined) yield refuseDuplicate(id, earlier.index, index);
}

export function* checkReasoning(body: JsonObject, { issued, needsReasoning }: CheckContext): Iterable<Refusal> {
  const messages = readMessages(body);
  const loop = new Set(readOpenLoop(messages).map(({ index }) => index));
  for (const { message, index, calls, role } of messages) {
    const given = message['reasoning_content'];
    if (given !== undefined && typeof given !== 'string') {
      yield refuseType('C7', `messages[${index}].reasoning_content`, 'a string', given);
    }
    const written = issued.reasoningBeside(calls[0]?.id ?? '');
    const isLost = needsReasoning && role === 'assistant' && calls.length > 0 && loop.has(index) && given === undefined;
    if (isLost || (given !== undefined && written !== undefined && given !== written)) {
      yield {
        ...refuse('C7', 'The `reasoning_content` in the thinking mode must be passed back to the API.'),
        code: 'invalid_request_error',
      };
    }
  }
}
