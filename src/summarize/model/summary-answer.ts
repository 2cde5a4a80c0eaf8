import { readJsonText } from '../../domain/json-text.ts';
import type { ModelAnswer } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import type { ProviderSchema } from '../../domain/provider-schema.ts';
import { ASKED_SECTIONS, orderSections, readSections, type Section, type Sections } from './sections.ts';

const QUOTES = { type: 'array', items: { type: 'string' } } as const;

/** Schema of an answer: each section has a list of quotes. A provider that enforces schemas returns nothing else. */
export const ANSWER_SCHEMA: ProviderSchema = {
  isStrict: true,
  schema: {
    type: 'object',
    properties: Object.fromEntries(ASKED_SECTIONS.map((section) => [section, QUOTES])),
    required: ASKED_SECTIONS,
    additionalProperties: false,
  },
};

type ReadAnswer =
  | { readonly status: 'written'; readonly sections: Sections }
  | { readonly status: 'refused'; readonly why: string };

export function readAnswer({ content, toolCalls, end }: ModelAnswer): ReadAnswer {
  if (toolCalls.length > 0) return refuse('the model called a tool instead of writing a summary');
  if (end === 'cut_off') return refuse('the summary was cut off at the output limit');
  if (end === 'refusal') return refuse('the model declined to write a summary');
  if (content.trim() === '') return refuse('the summary is empty');
  // A model may continue in the form of the earlier summaries, which have headings.
  const headed = readSections(content);
  const sections = headed.size > 0 ? headed : readLists(content);
  return sections.size > 0 ? { status: 'written', sections } : refuse('the answer has none of the requested sections');
}

function refuse(why: string): ReadAnswer {
  return { status: 'refused', why };
}

/** Reads the quotes of each section. Models write quotes as texts, as numbers, or within objects. */
function readLists(text: string): Sections {
  const object = readJsonText(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
  if (!isMapping(object)) return readBrokenLists(text);
  const lists = new Map<Section, string>();
  for (const [key, value] of Object.entries(object)) {
    const section = ASKED_SECTIONS.find((name) => name === key.toLowerCase());
    const quotes = textsIn(value);
    if (section !== undefined && quotes.length > 0) lists.set(section, quotes.join('\n'));
  }
  return orderSections(lists);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(textsIn);
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
}

/** Matches a JSON string, and the colon after a key. An unclosed string matches to the end, for linear time. */
const STRING = /"([^"\\]*(?:\\.[^"\\]*)*)(?:"(\s*:)?|\\?$)/gs;

/**
 * Reads the strings behind each key of an object that is not JSON, e.g. for a wrong escape or a comma at the end. A
 * quotation mark without its escape hides the keys behind it. Then nothing is read.
 */
function readBrokenLists(text: string): Sections {
  const lists = new Map<Section, string>();
  const keys = new Set<string>();
  let open: Section | undefined;
  for (const [, written = '', colon] of text.matchAll(STRING)) {
    if (colon !== undefined) {
      keys.add(written);
      open = ASKED_SECTIONS.find((section) => section === written);
    } else if (open !== undefined) lists.set(open, `${lists.get(open) ?? ''}${decode(written)}\n`);
  }
  const isHidden = ASKED_SECTIONS.some((name) => text.includes(`"${name}":`) && !keys.has(name));
  return isHidden ? new Map() : orderSections(lists);
}

/** @param written characters of a JSON string between its quotation marks */
function decode(written: string): string {
  try {
    return String(JSON.parse(`"${written}"`));
  } catch {
    return written;
  }
}
