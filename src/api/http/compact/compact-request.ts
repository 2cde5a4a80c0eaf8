import { z } from 'zod';
import { boundedList } from '../../../domain/bounded-schemas.ts';
import type { Message } from '../../../domain/message.ts';
import { parseInput } from '../../../domain/parse.ts';
import { joinPartTexts } from '../../../domain/parts.ts';
import { isOpenCall, isResultItem } from '../../../wire/histories/formats/responses-calls.ts';
import { ItemReader } from '../../../wire/histories/formats/responses-items.ts';
import { type HistoryNote, HistoryNotes } from '../../../wire/histories/notes.ts';

const MAX_ITEMS = 20_000;
const MAX_TOKENS = 4_000;

const contentSchema = z.union([z.string(), boundedList(z.looseObject({ type: z.string() }), 1_000)]);
const itemSchema = z.looseObject({
  type: z.string().default('message'),
  role: z.string().optional(),
  content: contentSchema.nullish(),
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  encrypted_content: z.string().nullish(),
});

export const compactSchema = z
  .looseObject({
    input: z.union([z.string(), boundedList(itemSchema, MAX_ITEMS)]),
    model: z.string().describe('Name of a summarizer. Any other name stands for `structural`, which needs no model.'),
    max_tokens: z.number().int().min(64).max(100_000).default(MAX_TOKENS).describe('Maximum tokens of the summary.'),
    as: z
      .enum(['compaction', 'message'])
      .default('compaction')
      .describe('Form of the summary: a compaction item, or a user message that any provider takes.'),
  })
  .meta({
    id: 'CompactRequest',
    examples: [
      {
        model: 'structural',
        input: [
          { type: 'message' as const, role: 'user', content: 'Where is my parcel?' },
          { type: 'message' as const, role: 'assistant', content: 'It left the warehouse on Monday.' },
        ],
      },
    ],
  });

export type CompactItem = z.output<typeof itemSchema>;

export interface CompactRequest {
  readonly model: string;
  readonly maxTokens: number;
  readonly as: 'compaction' | 'message';
  /** Instructions and users' messages. */
  readonly kept: readonly CompactItem[];
  /** Calls without an output, at the end. */
  readonly open: readonly CompactItem[];
  readonly messages: readonly Message[];
  /** Notes on values of the items that the messages do not contain. */
  readonly notes: readonly HistoryNote[];
  readonly userRequest: string | undefined;
}

export function readCompactRequest(body: unknown): CompactRequest {
  const { input, model, max_tokens: maxTokens, as } = parseInput(compactSchema, body);
  const items: CompactItem[] = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
  const answered = new Set(items.flatMap(({ type, call_id: id }) => (isResultItem(type) && id) || []));
  const isOpen = ({ type, call_id: id = '' }: CompactItem): boolean => isOpenCall(type) && !answered.has(id);
  const kept = items.filter(isKept);
  const last = kept.findLast(({ role }) => role === 'user');
  const notes = new HistoryNotes();
  const reader = new ItemReader(notes);
  items.forEach((item, index) => {
    if (!isKept(item) && !isOpen(item)) reader.enter(openSummary(item), `input[${index}]`);
  });
  return {
    model,
    maxTokens,
    as,
    kept,
    open: items.filter(isOpen),
    messages: reader.finish().map(({ message }) => message),
    notes: notes.list,
    userRequest: last && readItemText(last.content),
  };
}

function isKept({ type, role }: CompactItem): boolean {
  return type === 'message' && role !== 'assistant';
}

/** Converts an earlier compaction to a message, so that its text becomes part of the next summary. */
function openSummary(item: CompactItem): unknown {
  const { type, encrypted_content: text } = item;
  return type === 'compaction' ? { role: 'assistant', content: text ?? '' } : item;
}

/** Returns the text of an item. Pictures have no text. */
export function readItemText(content: CompactItem['content']): string {
  if (typeof content === 'string') return content;
  return joinPartTexts((content ?? []).map(({ text }) => (typeof text === 'string' ? text : '')));
}
