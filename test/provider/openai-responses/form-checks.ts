/** Checks of the request's and its items' schema, and of sizes (wire rules X3, X4, X5, X6, X7, X9, R7, R9). */
import { type JsonObject, readText } from '../json.ts';
import {
  refuse,
  refuseChoice,
  refuseEmptyArray,
  refuseLongText,
  refuseMissing,
  refuseType,
  refuseUnknown,
  refuseValue,
} from '../openai/refuse.ts';
import { checkArguments, checkName } from '../openai/shared-checks.ts';
import type { CheckContext, Refusal } from '../refusal.ts';
import { callIdOf, isAssistant, isCall, isOutput, type PlacedItem, readItems, readParts } from './items.ts';

const MAX_ID_LENGTH = 64;
const MIN_OUTPUT_TOKENS = 16;

const ITEM_TYPES =
  'apply_patch_call apply_patch_call_output code_interpreter_call compaction compaction_trigger computer_call computer_call_output custom_tool_call custom_tool_call_output file_search_call function_call function_call_output image_generation_call item_reference local_shell_call local_shell_call_output mcp_approval_request mcp_approval_response mcp_call mcp_list_tools message reasoning shell_call shell_call_output tool_search_call tool_search_output web_search_call'.split(
    ' ',
  );

/** Fields and id prefix of the items that clients write. The provider's other items are not checked. */
const ITEM_FORMS: Readonly<Record<string, { readonly prefix: string; readonly keys: readonly string[] }>> = {
  message: { prefix: 'msg', keys: ['role', 'content', 'status', 'phase'] },
  reasoning: { prefix: 'rs', keys: ['summary', 'content', 'encrypted_content', 'status'] },
  function_call: { prefix: 'fc', keys: ['call_id', 'name', 'arguments', 'status', 'namespace', 'caller', 'async'] },
  function_call_output: { prefix: 'fc', keys: ['call_id', 'output', 'status', 'caller'] },
  compaction: { prefix: 'cmp', keys: ['encrypted_content'] },
};

export function* checkBody(body: JsonObject): Iterable<Refusal> {
  if (body['model'] === undefined) yield refuseMissing('request', 'model');
  for (const [old, renamed] of [
    ['messages', 'input'],
    ['max_tokens', 'max_output_tokens'],
  ] as const) {
    if (body[old] !== undefined) {
      const message = `Unsupported parameter: '${old}'. In the Responses API, this parameter has moved to '${renamed}'. Try again with the new parameter.`;
      yield refuse('request', message, { param: old, code: 'unsupported_parameter' });
    }
  }
  const previous = body['previous_response_id'];
  if (typeof previous === 'string') {
    // This test server stores no responses, as a server does with `store: false`.
    yield refuse('R7', `Previous response with id '${previous}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    });
  }
  const cap = body['max_output_tokens'];
  if (typeof cap === 'number' && cap < MIN_OUTPUT_TOKENS) {
    const what = `integer below minimum value. Expected a value >= ${MIN_OUTPUT_TOKENS}, but got ${cap} instead.`;
    yield refuseValue('request', 'max_output_tokens', what, 'integer_below_min_value');
  }
  if (readItems(body).length === 0) {
    yield refuse('X5', "One of 'input' or 'previous_response_id' or 'prompt' or 'conversation_id' must be provided.", {
      param: 'input',
      code: 'missing_required_parameter',
    });
  }
}

export function* checkItems(body: JsonObject): Iterable<Refusal> {
  const items = readItems(body);
  const ids = new Set<string>();
  for (const placed of items) {
    yield* checkForm(placed);
    if (placed.id !== '' && ids.has(placed.id)) {
      yield refuse(
        'R9',
        `Duplicate item found with id ${placed.id}. Remove duplicate items from your input and try again.`,
        { param: 'input' },
      );
    }
    ids.add(placed.id);
    if (isCall(placed) || isOutput(placed)) yield* checkCallId(placed);
    if (placed.type === 'function_call') {
      yield* checkName(`input[${placed.index}].name`, readText(placed.item['name']));
      yield* checkArguments('X7', `input[${placed.index}].arguments`, placed.item['arguments']);
    }
    yield* checkContent(placed);
  }
}

function* checkForm({ item, type, id, index }: PlacedItem): Iterable<Refusal> {
  const path = `input[${index}]`;
  if (!ITEM_TYPES.includes(type)) yield refuseChoice('request', path, type, ITEM_TYPES);
  const form = ITEM_FORMS[type];
  if (form === undefined) return;
  for (const key of Object.keys(item)) {
    if (key !== 'type' && key !== 'id' && !form.keys.includes(key)) yield refuseUnknown(`${path}.${key}`);
  }
  if (item['id'] === undefined || item['id'] === null) return;
  const about = { param: `${path}.id`, code: 'invalid_value' };
  if (id.length > MAX_ID_LENGTH) yield refuseLongText('R9', `${path}.id`, id, MAX_ID_LENGTH);
  if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
    yield refuse(
      'R9',
      `Invalid '${path}.id': '${id}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`,
      about,
    );
  }
  if (!id.startsWith(form.prefix)) {
    yield refuse('R9', `Invalid '${path}.id': '${id}'. Expected an ID that begins with '${form.prefix}'.`, about);
  }
}

function* checkCallId(placed: PlacedItem): Iterable<Refusal> {
  const param = `input[${placed.index}].call_id`;
  const id = callIdOf(placed);
  if (id === '') yield refuseMissing('R1', param);
  if (id.length > MAX_ID_LENGTH) yield refuseLongText('R1', param, id, MAX_ID_LENGTH);
}

function* checkContent(placed: PlacedItem): Iterable<Refusal> {
  const { item, type, index } = placed;
  if (type !== 'message' && type !== 'function_call_output') return;
  const key = type === 'message' ? 'content' : 'output';
  const param = `input[${index}].${key}`;
  const content = item[key];
  if (content === undefined) yield refuseMissing('X3', param);
  else if (Array.isArray(content) && content.length === 0) yield refuseEmptyArray(param);
  else if (typeof content !== 'string' && !Array.isArray(content)) {
    yield refuseType('request', param, 'one of an array of objects or string', content);
  }
  const kinds = isAssistant(placed) ? ['output_text', 'refusal'] : ['input_text', 'input_image', 'input_file'];
  for (const [position, part] of readParts(content).entries()) {
    const kind = readText(part['type']);
    if (Array.isArray(content) && !kinds.includes(kind)) {
      yield refuseChoice('request', `${param}[${position}]`, kind, kinds);
    }
    const text = part['text'] ?? part['refusal'];
    // OpenAI accepts an empty text. This error message is not OpenAI's.
    if (typeof text === 'string' && text.trim() === '') {
      const what = 'empty string. Expected a string with minimum length 1, but got an empty string instead.';
      yield refuseValue('X3', param, what, 'empty_string');
    }
  }
}

/**
 * Requires that the model can answer the last item. OpenAI accepts any last item, and this error message is not
 * OpenAI's.
 */
export function* checkEnds(body: JsonObject): Iterable<Refusal> {
  const items = readItems(body);
  const spoken = items.filter(({ item }) => item['role'] !== 'system' && item['role'] !== 'developer');
  const [first] = spoken;
  if (first?.type !== 'compaction' && first?.item['role'] !== 'user') {
    yield refuse('X5', "Invalid 'input': the first message must be the user's.", { param: 'input' });
  }
  const last = spoken.at(-1);
  if (last !== undefined && last.item['role'] !== 'user' && !isOutput(last)) {
    yield refuse('X4', "Invalid 'input': nothing to answer after the last item.", { param: 'input' });
  }
}

export function* checkSize(body: JsonObject, context: CheckContext): Iterable<Refusal> {
  const { bytes, maxBytes, windowTokens, countTokens } = context;
  if (bytes > maxBytes) yield { ...refuse('X9', 'Request Entity Too Large'), status: 413 };
  if (countTokens(body) + Number(body['max_output_tokens'] ?? 0) > windowTokens) {
    yield refuse('X9', 'Your input exceeds the context window of this model. Please adjust your input and try again.', {
      param: 'input',
      code: 'context_length_exceeded',
    });
  }
}
