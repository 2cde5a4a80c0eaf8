/** Checks of the position of thinking and of the messages before it (wire rules A7, A8). */
import { isObject, type JsonObject, readText } from '../json.ts';
import type { CheckContext, Refusal } from '../refusal.ts';
import { findBroken } from '../seals.ts';
import { bondOf } from './bond.ts';
import { refuse } from './refuse.ts';
import { blocksOf, isThinking, isThinkingOn, readOpenLoop, readTurns, type Turn } from './turns.ts';

const GUIDE = 'https://docs.claude.com/en/docs/build-with-claude/extended-thinking';
const MIN_BUDGET = 1024;

export function* checkThinkingConfig(body: JsonObject): Iterable<Refusal> {
  const thinking = body['thinking'];
  if (!isObject(thinking) || !isThinkingOn(body)) return;
  if (thinking['type'] === 'enabled') {
    const budget = Number(thinking['budget_tokens']);
    if (!(budget >= MIN_BUDGET)) {
      yield refuse('request', `thinking.enabled.budget_tokens: Input should be greater than or equal to ${MIN_BUDGET}`);
    }
    if (budget >= Number(body['max_tokens'])) {
      yield refuse(
        'request',
        `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. Please consult our documentation at ${GUIDE}#max-tokens-and-context-window-size`,
      );
    }
  }
  if (body['temperature'] !== undefined && body['temperature'] !== 1) {
    yield refuse('request', '`temperature` may only be set to 1 when thinking is enabled.');
  }
  const choice = body['tool_choice'];
  if (isObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool')) {
    yield refuse('request', 'Thinking may not be enabled when tool_choice forces tool use.');
  }
}

export function* checkThinkingFirst(body: JsonObject): Iterable<Refusal> {
  const turns = readTurns(body);
  for (const { role, blocks } of turns) {
    const [first] = blocks;
    if (role === 'assistant' && blocks.some(isThinking) && first !== undefined && !isThinking(first)) {
      yield refuse(
        'A7',
        `${first.path}: If an assistant message contains any thinking blocks, the first block must be \`thinking\` or \`redacted_thinking\`. Found \`${first.type}\`.`,
      );
    }
  }
  if (!isThinkingOn(body)) return;
  // With `adaptive`, the model may answer without thinking, so the first message of the loop needs no thinking.
  const [opening] = readOpenLoop(turns);
  const [first] = opening?.blocks ?? [];
  const isManual = isObject(body['thinking']) && body['thinking']['type'] === 'enabled';
  if (isManual && first !== undefined && !isThinking(first)) {
    yield refuse(
      'A7',
      `${first.path}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. Please consult our documentation at ${GUIDE}`,
    );
  }
}

/** Every thinking block that this server issued in the current tool loop must come back. */
export function* checkThinkingWhole(body: JsonObject, { issued }: CheckContext): Iterable<Refusal> {
  if (!isThinkingOn(body)) return;
  for (const turn of readOpenLoop(readTurns(body))) {
    const [call] = blocksOf(turn, 'tool_use');
    const written = call === undefined ? undefined : issued.thinkingBeside(readText(call.block['id']));
    if (written === undefined) continue;
    const given = sealsOf(turn);
    if (given.length !== written.length || given.some((seal, index) => seal !== written[index])) {
      yield refuse(
        'A7',
        `messages.${turn.index}.content.0: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
      );
    }
  }
}

function sealsOf(turn: Turn): string[] {
  return turn.blocks.filter(isThinking).map(({ block }) => readText(block['signature'] ?? block['data']));
}

export function* checkSignatures(body: JsonObject, { signatures }: CheckContext): Iterable<Refusal> {
  const blocks = readTurns(body).flatMap((turn) => turn.blocks.map((placed) => ({ ...placed, turn })));
  for (const { block, type, path, turn } of blocks) {
    if (type !== 'thinking' && type !== 'redacted_thinking') continue;
    if (type === 'thinking' && readText(block['signature']) === '') {
      yield refuse('A8', `${path}.thinking.signature: Field required`);
    }
    if (signatures === 'unchecked') continue;
    const bond = bondOf(
      body,
      turn.index,
      turn.blocks.findIndex((placed) => placed.block === block),
    );
    const broken = findBroken(readText(block['signature'] ?? block['data']), bond);
    const invalid = `${path}: Invalid \`signature\` in \`${type}\` block`;
    if (broken === undefined || broken.includes('thinking')) yield refuse('A8', invalid);
    else if (signatures === 'prefix' && isMoved(broken, bond.previous)) yield refuse('A8', invalid + explain(broken));
  }
}

/**
 * Returns true if thinking has lost its place. The first block that comes back may have lost the blocks before it. A
 * later block may not.
 */
function isMoved(broken: readonly string[], previous: string): boolean {
  return broken.some((part) => part !== 'previous' || previous !== '');
}

function explain(broken: readonly string[]): string {
  const what = broken.includes('system')
    ? ' The `system` prompt differs from the one this block was created with.'
    : '';
  return `. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block". That setting requires the \`thinking-binding-controls-2026-08-01\` value in the \`anthropic-beta\` header.${what}`;
}
