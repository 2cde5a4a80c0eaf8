/** Checks of tool calls and their results (wire rules X1, X2, X6, X7, A4, A5, A11). */
import { isObject, type JsonObject, readObjects, readText } from '../json.ts';
import type { Refusal } from '../refusal.ts';
import { refuse } from './refuse.ts';
import { blocksOf, readTurns, type Turn } from './turns.ts';

const LEGAL_ID = /^[a-zA-Z0-9_-]+$/;

export function* checkIds(body: JsonObject): Iterable<Refusal> {
  const ids = new Set<string>();
  for (const { block, type, path } of readTurns(body).flatMap(({ blocks }) => blocks)) {
    if (type === 'tool_use' || type === 'server_tool_use') {
      const id = readText(block['id']);
      if (!LEGAL_ID.test(id)) {
        yield refuse('A5', `${path}.${type}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
      }
      if (ids.has(id)) yield refuse('X1', `${path}: \`tool_use\` ids must be unique`);
      ids.add(id);
      if (!isObject(block['input'])) yield refuse('X7', `${path}.${type}.input: Input should be a valid dictionary`);
    }
    if (type === 'tool_result' && !LEGAL_ID.test(readText(block['tool_use_id']))) {
      yield refuse('A5', `${path}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
    }
  }
}

export function* checkRoleOfTools(body: JsonObject): Iterable<Refusal> {
  for (const turn of readTurns(body)) {
    const [foreign, owner] = turn.role === 'user' ? ['tool_use', 'assistant'] : ['tool_result', 'user'];
    for (const { path } of blocksOf(turn, foreign)) {
      yield refuse('A4', `${path}: \`${foreign}\` blocks can only be in \`${owner}\` messages`);
    }
  }
}

export function* checkPairs(body: JsonObject): Iterable<Refusal> {
  const turns = readTurns(body);
  for (const turn of turns) {
    yield* checkAnswered(turn, turns[turn.index + 1]);
    yield* checkCalled(turn, turns[turn.index - 1]);
  }
}

/**
 * Requires results as the first blocks of the next message. Results after a text do not come "immediately after" their
 * calls.
 */
function* checkAnswered(turn: Turn, next: Turn | undefined): Iterable<Refusal> {
  const leading = next?.blocks.findIndex(({ type }) => type !== 'tool_result') ?? 0;
  const results = next?.blocks.slice(0, leading < 0 ? undefined : leading) ?? [];
  const answered = new Set(results.map(({ block }) => block['tool_use_id']));
  const open = blocksOf(turn, 'tool_use')
    .map(({ block }) => readText(block['id']))
    .filter((id) => !answered.has(id));
  if (open.length > 0) {
    yield refuse(
      'A4',
      `messages.${turn.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    );
  }
}

function* checkCalled(turn: Turn, previous: Turn | undefined): Iterable<Refusal> {
  const called = new Set(blocksOf(previous, 'tool_use').map(({ block }) => block['id']));
  const seen = new Set<string>();
  for (const { block, path } of blocksOf(turn, 'tool_result')) {
    const id = readText(block['tool_use_id']);
    if (!called.has(id)) {
      yield refuse(
        'X1',
        `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
    if (seen.has(id)) {
      yield refuse(
        'A5',
        `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      );
    }
    seen.add(id);
  }
}

export function* checkDefined(body: JsonObject): Iterable<Refusal> {
  const names = new Set(readObjects(body['tools']).map(({ name }) => name));
  const turns = readTurns(body);
  for (const { type } of turns.flatMap(({ blocks }) => blocks)) {
    if (names.size === 0 && (type === 'tool_use' || type === 'tool_result')) {
      yield refuse('X6', 'Requests which include `tool_use` or `tool_result` blocks must define tools');
    }
  }
}

/** Requires the call and the result of a server tool in one message, because the provider runs such tools. */
export function* checkServerTools(body: JsonObject): Iterable<Refusal> {
  const turns = readTurns(body);
  for (const { blocks, index } of turns) {
    const open = new Map<string, string>();
    for (const { block, type, path } of blocks) {
      if (type === 'server_tool_use') open.set(readText(block['id']), readText(block['name']));
      if (!type.endsWith('_tool_result')) continue;
      const id = readText(block['tool_use_id']);
      if (!open.delete(id)) {
        yield refuse(
          'A11',
          `${path}: unexpected \`tool_use_id\` found in \`${type}\` blocks: ${id}. Each \`${type}\` block must have a corresponding \`server_tool_use\` block before it.`,
        );
      }
    }
    for (const [id, name] of index === turns.length - 1 ? [] : open) {
      yield refuse(
        'A11',
        `messages.${index}: \`${name}\` tool use with id \`${id}\` was found without a corresponding \`${name}_tool_result\` block`,
      );
    }
  }
}
