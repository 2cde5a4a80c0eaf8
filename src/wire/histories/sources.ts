import { isMapping } from '../../domain/parse.ts';
import { joinPartTexts } from '../../domain/parts.ts';
import type { MessageDraft } from './message-draft.ts';
import type { HistoryNotes } from './notes.ts';
import { type Block, blocksIn, listOf } from './values.ts';

/** Returns a document of Anthropic or Cohere as texts. A PDF stays one block. */
export function openDocument(block: Block): readonly Block[] {
  const { type, title, context, source, document } = block;
  if (type !== 'document') return [block];
  const blocks = isMapping(document) ? documentBlocks(document) : isMapping(source) ? sourceBlocks(source) : undefined;
  const before = blocks === undefined ? [context] : [title, context];
  return [...before.filter(isText).map(asText), ...(blocks ?? [block])];
}

/** Reads a document of Cohere, which may have any fields. */
function documentBlocks({ id, data }: Block): readonly Block[] {
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? {});
  return [id, text].filter(isText).map(asText);
}

function sourceBlocks({ type, data, content }: Block): readonly Block[] | undefined {
  if (type === 'text' && typeof data === 'string') return [asText(data)];
  if (type !== 'content') return undefined;
  return isText(content) ? [asText(content)] : blocksIn(content);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function asText(text: string): Block {
  return { type: 'text', text };
}

interface CitationTarget {
  readonly draft: MessageDraft;
  readonly notes: HistoryNotes;
  readonly at: string;
}

/** Adds the sources of a text after it, once each: citations of Anthropic and LangChain, annotations of OpenAI. */
export function readCitations(given: unknown, { draft, notes, at }: CitationTarget): void {
  const lines = new Set<string>();
  for (const [index, citation] of listOf(given).entries()) {
    const line = isMapping(citation) ? writeCitation(citation) : undefined;
    if (line === undefined)
      notes.add(
        'left_out',
        `${at}[${index}]`,
        'a source of a text without a title and an address has no content for a model',
      );
    else lines.add(line);
  }
  if (lines.size > 0) draft.addText(joinPartTexts([...lines]));
}

function writeCitation(given: Block): string | undefined {
  const nested = given['url_citation'];
  const { title, document_title, filename, url, cited_text } = isMapping(nested) ? nested : given;
  const source = [title ?? document_title ?? filename, url].filter(isText);
  if (source.length === 0 && typeof cited_text !== 'string') return undefined;
  return `[${source.join(', ')}${typeof cited_text === 'string' ? `: "${cited_text}"` : ''}]`;
}
