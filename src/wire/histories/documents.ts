import { isMapping } from '../../domain/parse.ts';

type Mapping = Readonly<Record<string, unknown>>;

/**
 * Returns the blocks of a document of Anthropic or Cohere: texts with its title and context, if its content is text. A PDF stays
 * one block.
 */
export function openDocument(block: Mapping): readonly Mapping[] {
  const { type, title, context, source, document } = block;
  if (type !== 'document') return [block];
  const blocks = isMapping(document) ? documentBlocks(document) : isMapping(source) ? sourceBlocks(source) : undefined;
  const before = blocks === undefined ? [context] : [title, context];
  return [...before.filter(isText).map(asText), ...(blocks ?? [block])];
}

/** A document of Cohere has fields of its own choice. */
function documentBlocks({ id, data }: Mapping): readonly Mapping[] {
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? {});
  return [id, text].filter(isText).map(asText);
}

/** @returns undefined for a PDF or another file */
function sourceBlocks({ type, data, content }: Mapping): readonly Mapping[] | undefined {
  if (type === 'text' && typeof data === 'string') return [asText(data)];
  if (type !== 'content') return undefined;
  return Array.isArray(content) ? content.filter(isMapping) : isText(content) ? [asText(content)] : [];
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function asText(text: string): Mapping {
  return { type: 'text', text };
}
