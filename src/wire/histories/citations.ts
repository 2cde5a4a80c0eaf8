import { isMapping } from '../../domain/parse.ts';
import { joinTexts } from '../../domain/parts.ts';
import type { MessageDraft } from './message-draft.ts';
import type { HistoryNotes } from './notes.ts';

type Mapping = Readonly<Record<string, unknown>>;

interface CitationTarget {
  readonly draft: MessageDraft;
  readonly notes: HistoryNotes;
  readonly at: string;
}

/** Adds the sources of a text behind it, once each: citations of Anthropic and LangChain, annotations of OpenAI. */
export function readCitations(given: unknown, { draft, notes, at }: CitationTarget): void {
  const lines = new Set<string>();
  for (const [index, citation] of (Array.isArray(given) ? (given as readonly unknown[]) : []).entries()) {
    const line = isMapping(citation) ? writeCitation(citation) : undefined;
    if (line === undefined)
      notes.add(
        'left_out',
        `${at}[${index}]`,
        'a source of a text without a title and an address has no content for a model',
      );
    else lines.add(line);
  }
  if (lines.size > 0) draft.addText(joinTexts([...lines]));
}

/** @returns undefined for a source without a name and a text */
function writeCitation(given: Mapping): string | undefined {
  const nested = given['url_citation'];
  const { title, document_title, filename, url, cited_text } = isMapping(nested) ? nested : given;
  const source = [title ?? document_title ?? filename, url].filter((part) => typeof part === 'string' && part !== '');
  if (source.length === 0 && typeof cited_text !== 'string') return undefined;
  return `[${source.join(', ')}${typeof cited_text === 'string' ? `: "${cited_text}"` : ''}]`;
}
