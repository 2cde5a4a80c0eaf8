import type { Message } from '../../domain/message.ts';
import { findCallIdentifiers, findIdentifiers, findPlainWords, type IdentifierKind } from './identifiers.ts';
import { holds, renderMessage } from './searchable-text.ts';

/** Frequencies of texts. A text in many conversations does not distinguish one conversation. */
export interface Frequencies {
  readonly isCommon: (identifier: string) => boolean;
  readonly isRareWord: (word: string) => boolean;
}

/** Number of messages after the cut in which a use counts. */
const HORIZON = 40;

export interface Use {
  readonly kind: IdentifierKind;
  readonly isInArgument: boolean;
}

/**
 * Finds identifiers and rare words that the assistant uses after the cut, and could know only from the messages before.
 * Texts that the system prompt or another later message also has do not count.
 * @param cut index of the first message after the cut
 */
export function findReused(
  messages: readonly Message[],
  cut: number,
  known: Frequencies & { readonly isInSource: (text: string) => boolean },
): Map<string, Use> {
  const system = textOf(messages, 'system');
  const toolNames = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => name)));
  const seen = new Set<string>();
  const later: string[] = [];
  const reused = new Map<string, Use>();
  for (const message of messages.slice(cut, cut + HORIZON)) {
    for (const [text, use] of message.role === 'assistant' ? findUses(message, known) : []) {
      if (seen.has(text)) continue;
      seen.add(text);
      const isKnownAnyway = toolNames.has(text) || known.isCommon(text) || holds(system, text);
      if (isKnownAnyway || later.some((other) => holds(other, text))) continue;
      if (known.isInSource(text)) reused.set(text, use);
    }
    const rendered = renderMessage(message);
    later.push(rendered);
    // `holds` does not find an identifier that is only a part of a longer word.
    for (const identifier of findIdentifiers(rendered).keys()) seen.add(identifier);
  }
  return reused;
}

export function textOf(messages: readonly Message[], role: Message['role']): string {
  return messages
    .filter((message) => message.role === role)
    .map(({ content }) => content)
    .join('\n');
}

function findUses({ content, toolCalls = [] }: Message, { isRareWord }: Frequencies): Map<string, Use> {
  const uses = new Map<string, Use>();
  for (const call of toolCalls) {
    for (const [text, kind] of findCallIdentifiers(call)) uses.set(text, { kind, isInArgument: true });
  }
  for (const [text, kind] of findIdentifiers(content)) {
    if (!uses.has(text)) uses.set(text, { kind, isInArgument: false });
  }
  for (const text of findPlainWords(content)) {
    if (!uses.has(text) && isRareWord(text)) uses.set(text, { kind: 'word', isInArgument: false });
  }
  return uses;
}
