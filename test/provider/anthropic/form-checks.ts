/** Checks of the request's schema and of the order of its messages (wire rules A1–A3, A6, X3, X4, X5, X8). */
import { isObject, type JsonObject, readObjects, readStrings, readText } from '../json.ts';
import type { CheckContext, Refusal } from '../refusal.ts';
import { refuse } from './refuse.ts';
import { readTurns, type Turn, toBlocks } from './turns.ts';

/** Allowed fields of each block type. Types that are not listed are refused. */
const BLOCK_KEYS: Readonly<Record<string, readonly string[]>> = {
  text: ['text', 'cache_control', 'citations'],
  image: ['source', 'cache_control'],
  document: ['source', 'title', 'context', 'citations', 'cache_control'],
  tool_use: ['id', 'name', 'input', 'cache_control', 'caller', 'toolset_name'],
  tool_result: ['tool_use_id', 'content', 'is_error', 'cache_control', 'toolset_name'],
  server_tool_use: ['id', 'name', 'input', 'cache_control', 'caller'],
  web_search_tool_result: ['tool_use_id', 'content', 'cache_control', 'caller'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
  compaction: ['content', 'encrypted_content', 'signature', 'tool_changes', 'cache_control'],
};

const BODY_KEYS: ReadonlySet<string> = new Set(
  (
    'model messages max_tokens system tools tool_choice thinking stream temperature top_p top_k stop_sequences metadata ' +
    'service_tier container inference_geo output_config cache_control diagnostics speed context_management compaction ' +
    'mcp_servers'
  ).split(' '),
);

export function* checkBody(body: JsonObject): Iterable<Refusal> {
  for (const key of ['model', 'max_tokens', 'messages']) {
    if (body[key] === undefined) yield refuse('request', `${key}: Field required`);
  }
  for (const key of Object.keys(body)) {
    if (!BODY_KEYS.has(key)) yield refuse('request', `${key}: Extra inputs are not permitted`);
  }
  for (const text of readStrings(body)) {
    if (!text.isWellFormed()) {
      yield refuse('X8', 'The request body is not valid JSON: no low surrogate in string: line 1 column 2 (char 1)');
    }
  }
  if (readTurns(body).length === 0) yield refuse('X5', 'messages: at least one message is required');
}

export function* checkRoles(body: JsonObject, { takesLaterSystem }: CheckContext): Iterable<Refusal> {
  const turns = readTurns(body);
  for (const { role, index } of turns) {
    if (role === 'system') {
      yield* checkLaterSystem(turns, index, takesLaterSystem);
      continue;
    }
    if (role !== 'user' && role !== 'assistant') {
      yield refuse('A1', `messages.${index}.role: Input should be 'user' or 'assistant'`);
    }
  }
  const [first] = turns;
  if (first?.role === 'assistant' && first.blocks[0]?.type !== 'compaction') {
    yield refuse('A2', 'messages: first message must use the "user" role');
  }
  for (const { role, index } of turns) {
    if (index > 0 && turns[index - 1]?.role === role) {
      yield refuse(
        'A3',
        `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`,
      );
    }
  }
}

/** The newest models accept a system message between a user message and an answer, or at the end. */
function* checkLaterSystem(turns: readonly Turn[], index: number, isTaken: boolean): Iterable<Refusal> {
  if (!isTaken) {
    yield refuse(
      'A1',
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    );
  }
  if (index === 0) yield refuse('A1', 'messages.0: use the top-level `system` parameter for the initial system prompt');
  const next = turns[index + 1]?.role ?? 'assistant';
  if (turns[index - 1]?.role !== 'user' || next !== 'assistant')
    yield refuse(
      'A1',
      `messages.${index}: a system message must follow a user message and precede an assistant message`,
    );
  if (turns[index]?.blocks.some(({ type }) => type !== 'text') === true)
    yield refuse('A1', `messages.${index}: system messages may contain text only`);
}

export function* checkBlocks(body: JsonObject): Iterable<Refusal> {
  for (const turn of readTurns(body)) {
    if (turn.content === undefined) yield refuse('X3', `messages.${turn.index}.content: Field required`);
    if (turn.blocks.length === 0 || turn.content === '') {
      yield refuse(
        'X3',
        `messages.${turn.index}: all messages must have non-empty content except for the optional final assistant message`,
      );
    }
    for (const { block, path } of turn.blocks) yield* checkBlock(block, path);
  }
}

function* checkBlock(block: JsonObject, path: string): Iterable<Refusal> {
  const type = readText(block['type']);
  const keys = BLOCK_KEYS[type];
  if (keys === undefined) {
    const expected = Object.keys(BLOCK_KEYS).map((kind) => `'${kind}'`);
    yield refuse(
      'request',
      `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${expected.join(', ')}`,
    );
  }
  for (const key of Object.keys(block)) {
    if (key !== 'type' && keys?.includes(key) === false) {
      yield refuse('request', `${path}.${type}.${key}: Extra inputs are not permitted`);
    }
  }
  if (type === 'image') yield* checkImage(block, path);
  if (type === 'tool_result') {
    const contents = toBlocks(block['content']);
    if (block['is_error'] === true && contents.some((inner) => inner['type'] !== 'text')) {
      yield refuse('A12', `${path}.${type}: all content must be type 'text' if 'is_error' is true`);
    }
    for (const [index, inner] of contents.entries()) {
      yield* checkBlock(inner, `${path}.${type}.content.${index}`);
    }
  }
}

function* checkImage({ source }: JsonObject, path: string): Iterable<Refusal> {
  if (!isObject(source)) {
    yield refuse('request', `${path}.image.source: Field required`);
    return;
  }
  if (source['type'] === 'url') return;
  if (!/^image\/(jpeg|png|gif|webp)$/.test(readText(source['media_type']))) {
    yield refuse(
      'request',
      `${path}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
    );
  }
  if (readText(source['data']) === '') {
    yield refuse('X3', `${path}.image.source.base64: image cannot be empty`);
  }
}

export function* checkTexts(body: JsonObject): Iterable<Refusal> {
  const turns = readTurns(body);
  if (body['system'] !== undefined) yield* checkTextBlocks('system', toBlocks(body['system']));
  for (const { blocks } of turns) {
    const outer = blocks.map(({ block }) => block);
    const inner = outer.flatMap((block) => (block['type'] === 'tool_result' ? toResultBlocks(block) : []));
    yield* checkTextBlocks('messages', [...outer, ...inner]);
  }
  yield* checkLast(turns.at(-1));
}

/**
 * Reads the content of a tool result. An empty result must have no `content`, the only form that every gateway accepts.
 */
function toResultBlocks({ content }: JsonObject): readonly JsonObject[] {
  if (content === undefined) return [];
  const blocks = toBlocks(content);
  return blocks.length === 0 ? [{ type: 'text', text: '' }] : blocks;
}

function* checkTextBlocks(path: string, blocks: readonly JsonObject[]): Iterable<Refusal> {
  for (const { type, text } of blocks) {
    if (type !== 'text') continue;
    if (readText(text) === '') yield refuse('A6', `${path}: text content blocks must be non-empty`);
    if (readText(text).trim() === '') {
      yield refuse('A6', `${path}: text content blocks must contain non-whitespace text`);
    }
  }
}

function* checkLast(last: Turn | undefined): Iterable<Refusal> {
  if (last?.role !== 'assistant') return;
  const text = readText(last.blocks.at(-1)?.block['text']);
  if (text !== text.trimEnd()) {
    yield refuse('A6', 'messages: final assistant content cannot end with trailing whitespace');
  }
  // Calls at the end are refused elsewhere for their missing results. Paused server tools may continue.
  if (!last.blocks.some(({ type }) => type === 'tool_use' || type === 'server_tool_use')) {
    yield refuse(
      'X4',
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    );
  }
}

export function* checkToolDefinitions({ tools }: JsonObject): Iterable<Refusal> {
  const names = new Set<string>();
  for (const [index, tool] of readObjects(tools).entries()) {
    if (tool['type'] !== undefined && tool['type'] !== 'custom') continue;
    const name = readText(tool['name']);
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
      yield refuse('X6', `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    }
    if (names.has(name)) yield refuse('X6', 'tools: Tool names must be unique.');
    names.add(name);
    const schema = tool['input_schema'];
    if (!isObject(schema)) yield refuse('X6', `tools.${index}.custom.input_schema: Field required`);
    else if (schema['type'] !== 'object') {
      yield refuse('X6', `tools.${index}.custom.input_schema.type: Input should be 'object'`);
    } else if (['oneOf', 'allOf', 'anyOf'].some((key) => key in schema)) {
      const words = 'input_schema does not support oneOf, allOf, or anyOf at the top level';
      yield refuse('X6', `tools.${index}.custom.input_schema: ${words}`);
    }
  }
}
