/** Checks of cache breakpoints, the provider's own compaction, and the request's size (wire rules A9, A10, X9). */
import { isObject, type JsonObject, readObjects, readText } from '../json.ts';
import type { CheckContext, Refusal } from '../refusal.ts';
import { hash } from '../seals.ts';
import { refuse } from './refuse.ts';
import { blocksOf, readTurns, toBlocks } from './turns.ts';

const MAX_MARKS = 4;
/** Values of the beta header under which the server knows compaction blocks. */
const COMPACTION_BETAS = ['compact-2026-01-12', 'compact-2026-09-04'] as const;

export function* checkCacheMarks(body: JsonObject): Iterable<Refusal> {
  const blocks = readTurns(body).flatMap((turn) => turn.blocks);
  for (const { block, type, path } of blocks) {
    if (block['cache_control'] === undefined) continue;
    if (type === 'text' && readText(block['text']).trim() === '') {
      yield refuse('A9', `${path}.text: cache_control cannot be set for empty text blocks`);
    }
    const mark = block['cache_control'];
    if (!isObject(mark) || mark['type'] !== 'ephemeral') {
      yield refuse('A9', `${path}.${type}.cache_control.type: Input should be 'ephemeral'`);
    }
  }
  const inner = blocks.flatMap(({ block, type }) => (type === 'tool_result' ? toBlocks(block['content']) : []));
  const outer = [...readObjects(body['tools']), ...toBlocks(body['system']), ...blocks.map(({ block }) => block)];
  const marks = [body, ...outer, ...inner].filter((block) => block['cache_control'] !== undefined).length;
  if (marks > MAX_MARKS) {
    yield refuse('A9', `A maximum of ${MAX_MARKS} blocks with cache_control may be provided. Found ${marks}.`);
  }
}

export function signSummary(content: string): string {
  return `EqC${hash('compaction', content)}`;
}

export function* checkCompactions(body: JsonObject, { betas, signatures }: CheckContext): Iterable<Refusal> {
  const compactions = readTurns(body).flatMap((turn) => blocksOf(turn, 'compaction'));
  const [only] = compactions;
  if (only === undefined) return;
  if (!COMPACTION_BETAS.some((beta) => betas.has(beta))) {
    yield refuse(
      'A10',
      `${only.path}: Input tag 'compaction' found using 'type' does not match any of the expected tags`,
    );
  }
  if (compactions.length > 1) {
    yield refuse(
      'A10',
      'messages: more than one `compaction` block with content was found. Send only the block the conversation returned last.',
      'compaction_block_ambiguous',
    );
  }
  if (only.path !== 'messages.0.content.0') {
    yield refuse(
      'A10',
      `${only.path}: the \`compaction\` block must be the first block of the conversation`,
      'compaction_block_misplaced',
    );
  }
  if (signatures === 'unchecked') return;
  const signature = readText(only.block['signature']);
  if (!signature.startsWith('EqC')) {
    yield refuse(
      'A10',
      `${only.path}: the \`compaction\` block's \`signature\` does not verify`,
      'compaction_signature_invalid',
    );
  }
  if (signature !== signSummary(readText(only.block['content']))) {
    yield refuse(
      'A10',
      `${only.path}: the \`compaction\` block's \`content\` differs from the text its \`signature\` recorded`,
      'compaction_content_mismatch',
    );
  }
}

export function* checkSize(body: JsonObject, context: CheckContext): Iterable<Refusal> {
  const { bytes, maxBytes, windowTokens, countTokens } = context;
  if (bytes > maxBytes) {
    yield { rule: 'X9', status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' };
  }
  const tokens = countTokens(body);
  const maxTokens = Number(body['max_tokens']);
  if (tokens > windowTokens) yield refuse('X9', `prompt is too long: ${tokens} tokens > ${windowTokens} maximum`);
  if (tokens + maxTokens > windowTokens) {
    yield refuse(
      'X9',
      `input length and \`max_tokens\` exceed context limit: ${tokens} + ${maxTokens} > ${windowTokens}, decrease input length or \`max_tokens\` and try again`,
    );
  }
}
