/** Checks of calls with their outputs, reasoning with its next item, and encrypted content (X1, R1–R4, R6, R8). */
import { type JsonObject, readText } from '../json.ts';
import { refuse } from '../openai/refuse.ts';
import type { CheckContext, Refusal } from '../refusal.ts';
import { encrypt } from '../seals.ts';
import { callIdOf, isAssistant, isCall, isOutput, type PlacedItem, readItems } from './items.ts';

const INPUT = { param: 'input' } as const;

export function* checkPairs(body: JsonObject): Iterable<Refusal> {
  const items = readItems(body);
  const open = new Map<string, string>();
  const closed = new Set<string>();
  for (const placed of items) {
    const id = callIdOf(placed);
    if (isCall(placed)) {
      if (open.has(id) || closed.has(id)) yield refuse('X1', `Duplicate call_ids submitted: ['${id}', '${id}']`, INPUT);
      open.set(id, placed.type);
    } else if (isOutput(placed)) {
      if (open.get(id) === placed.type.slice(0, -'_output'.length)) open.delete(id);
      else if (closed.has(id)) yield refuse('X1', `Duplicate call_ids submitted: ['${id}', '${id}']`, INPUT);
      else yield refuse('R1', `No tool call found for ${nameType(placed.type)} with call_id ${id}.`, INPUT);
      closed.add(id);
    }
  }
  for (const [id, type] of open) yield refuse('R1', `No tool output found for ${nameType(type)} ${id}.`, INPUT);
}

function nameType(type: string): string {
  return type.replaceAll('_', ' ');
}

export function* checkReasoning(body: JsonObject, { issued }: CheckContext): Iterable<Refusal> {
  const items = readItems(body);
  for (const placed of items) {
    const next = items[placed.index + 1];
    const companion = issued.companionOf(placed.id);
    if (placed.type === 'reasoning' && !isCompanion(next, companion)) {
      yield refuse(
        next?.type === 'reasoning' ? 'R4' : 'R2',
        `Item '${placed.id}' of type 'reasoning' was provided without its required following item.`,
        INPUT,
      );
    }
    const reasoning = issued.reasoningOf(placed.id);
    if (reasoning !== undefined && !items.slice(0, placed.index).some(({ id }) => id === reasoning)) {
      yield refuse(
        'R3',
        `Item '${placed.id}' of type '${placed.type}' was provided without its required 'reasoning' item: '${reasoning}'.`,
        INPUT,
      );
    }
  }
}

/**
 * Returns true if the item is the one that originally followed the reasoning, with or without its id. If the original
 * item is unknown, any item except reasoning is accepted.
 */
function isCompanion(next: PlacedItem | undefined, companion: JsonObject | undefined): boolean {
  if (next === undefined || next.type === 'reasoning') return false;
  if (companion === undefined) return isAssistant(next) || next.type.endsWith('_call');
  if (next.type !== companion['type']) return false;
  if (next.id !== '') return next.id === companion['id'];
  return companion['call_id'] === undefined || callIdOf(next) === companion['call_id'];
}

export function* checkEncrypted(body: JsonObject, { signatures }: CheckContext): Iterable<Refusal> {
  const model = readText(body['model']);
  for (const { item, type, id } of readItems(body)) {
    if (type === 'item_reference') yield refuseLost(id);
    if (type !== 'reasoning' && type !== 'compaction') continue;
    const content = readText(item['encrypted_content']);
    if (content === '') yield refuseLost(id);
    if (signatures === 'unchecked') continue;
    if (content !== encrypt(type === 'compaction' ? type : id, model)) {
      yield refuse(
        type === 'compaction' ? 'R8' : 'R6',
        `The encrypted content for item ${id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
        { code: 'invalid_encrypted_content' },
      );
    }
  }
}

function refuseLost(id: string): Refusal {
  const message = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
  return { ...refuse('R6', message, INPUT), status: 404 };
}
