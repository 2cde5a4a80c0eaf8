import { isMapping } from '../../domain/parse.ts';

type Detail = Record<string, unknown>;

/** Fields of a detail whose pieces are appended. All other fields keep the last value. */
const TEXT_FIELDS: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/**
 * Adds the reasoning details of a chunk to those of earlier chunks. OpenRouter streams each detail in pieces with one
 * `index`. The joined details must go back in the same order, with their signatures.
 */
export function addReasoningDetails(details: Detail[], pieces: readonly unknown[]): void {
  for (const piece of pieces.filter(isMapping)) {
    const last = details.at(-1);
    if (last === undefined || !continues(last, piece)) details.push({ ...piece });
    else {
      for (const [name, value] of Object.entries(piece)) last[name] = joinField(name, last[name], value);
    }
  }
}

function continues(last: Detail, piece: Detail): boolean {
  if (last['type'] !== piece['type'] || last['index'] !== piece['index']) return false;
  const id = piece['id'] ?? undefined;
  return id === undefined || last['id'] === undefined || last['id'] === null || last['id'] === id;
}

function joinField(name: string, before: unknown, value: unknown): unknown {
  if (value === undefined || value === null) return before ?? value;
  if (!TEXT_FIELDS.has(name) || typeof value !== 'string') return value;
  return typeof before === 'string' ? before + value : value;
}

/** Returns the readable text of reasoning details, for servers that send no other text. */
export function textOfDetails(pieces: readonly unknown[]): string {
  return pieces
    .filter(isMapping)
    .map(({ text, summary }) => (typeof text === 'string' ? text : typeof summary === 'string' ? summary : ''))
    .join('');
}
