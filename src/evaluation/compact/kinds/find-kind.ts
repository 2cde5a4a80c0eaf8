import { fieldError } from '../../../domain/errors.ts';
import { isMapping } from '../../../domain/parse.ts';
import { aiSdkKind, anthropicKind, openaiChatKind, turnfoldKind } from './chat.ts';
import { agentsKind, responsesKind } from './items.ts';
import type { MessageFormat, MessageKind } from './kind.ts';
import { langchainKind } from './langchain.ts';
import { uiKind } from './parts.ts';

/** The first that recognizes a list reads it, so those with marks of their own come first. */
const KINDS: readonly MessageKind[] = [
  agentsKind,
  responsesKind,
  langchainKind,
  turnfoldKind,
  uiKind,
  aiSdkKind,
  anthropicKind,
  openaiChatKind,
];

/** @throws invalid_input for messages in no known format */
export function findKind(messages: readonly unknown[], format: MessageFormat | undefined): MessageKind {
  const blocks = messages.filter(isMapping);
  const found = KINDS.find(({ name, recognizes }) => (format === undefined ? recognizes(blocks) : name === format));
  if (found !== undefined) return found;
  if (messages.length === 0) return openaiChatKind;
  const names = KINDS.map(({ name }) => name).join(', ');
  throw fieldError('invalid_input', 'messages', `in no known format. Known formats: ${names}`);
}
