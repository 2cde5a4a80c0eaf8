import { textPart } from './parts.ts';
import type { ArrangedItem } from './wire-request.ts';

/**
 * Renders a system message that stands behind other messages for a provider that takes system messages only at the start. It
 * keeps its place as a user message, because a changed start would void the prompt cache and all thinking (wire rule A8).
 */
function renderLaterSystem(text: string): string {
  return `<system_message>\n${text}\n</system_message>`;
}

type SystemItem = Extract<ArrangedItem, { kind: 'system' }>;

export function writeAsUser({ origin, text }: SystemItem): ArrangedItem {
  return { kind: 'user', origin, parts: [textPart(renderLaterSystem(text))] };
}

/**
 * Wire rule A1: Anthropic takes system messages only between a user message (or results) and an answer, or at the end of
 * the request. Others become user messages. A run of system messages stands together.
 */
export function placeLaterSystem(items: readonly ArrangedItem[]): readonly ArrangedItem[] {
  const placed: ArrangedItem[] = [];
  for (let start = 0; start < items.length; ) {
    let end = start;
    while (items[end]?.kind === 'system') end += 1;
    const isLegal = isBehindUser(items[start - 1]) && (items[end]?.kind ?? 'assistant') === 'assistant';
    for (const item of items.slice(start, end))
      placed.push(item.kind === 'system' && !isLegal ? writeAsUser(item) : item);
    const next = items[end];
    if (next !== undefined) placed.push(next);
    start = end + 1;
  }
  return placed;
}

function isBehindUser(before: ArrangedItem | undefined): boolean {
  return before?.kind === 'user' || before?.kind === 'result';
}
