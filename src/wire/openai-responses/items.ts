import { forEachInSlices, type Sliced } from '../../domain/sliced.ts';
import type { SentPart } from '../sent-parts.ts';
import type { ArrangedItem, Origin } from '../wire-request.ts';
import type { InputImage, InputText, ResponsesItem } from './body.ts';
import { findCompactionItem, writeOwnItems } from './own-items.ts';

export interface LaidItem {
  readonly item: ResponsesItem;
  /** one for each part of a user's content, else one */
  readonly origins: readonly Origin[];
}

export interface LaidItems {
  readonly items: readonly LaidItem[];
  /** messages whose raw items were sent */
  readonly withRaw: ReadonlySet<Origin>;
  /** messages that the body does not say as they are */
  readonly altered: ReadonlySet<Origin>;
}

/** Lays arranged messages out as input items; a round's outputs stand behind its calls, because they were arranged so (R1, R5). */
export function* layItems(arranged: readonly ArrangedItem[]): Sliced<LaidItems> {
  const items: LaidItem[] = [];
  const withRaw = new Set<Origin>();
  const altered = new Set<Origin>();
  const ids = new Set<unknown>();
  yield* forEachInSlices(arranged, (one, index) => {
    const written = writeItem(one, index === 0, ids);
    items.push(...written.items);
    if (written.raw === 'verbatim') withRaw.add(one.origin);
    if (written.raw === 'altered' || (one.kind === 'result' && one.isError)) altered.add(one.origin);
  });
  return { items, withRaw, altered };
}

interface WrittenItem {
  readonly items: readonly LaidItem[];
  /** what became of its raw items */
  readonly raw: 'verbatim' | 'altered' | 'unused';
}

function writeItem(item: ArrangedItem, isFirst: boolean, ids: Set<unknown>): WrittenItem {
  const { origin } = item;
  switch (item.kind) {
    case 'user': {
      // R8: what precedes a compaction may go, so it is sent where nothing precedes it.
      const compaction = isFirst ? findCompactionItem(item.raw) : undefined;
      if (compaction !== undefined) {
        return { items: compaction.map((sent) => ({ item: sent, origins: [origin] })), raw: 'verbatim' };
      }
      const content = item.parts.map(writePart);
      const user = { type: 'message' as const, role: 'user' as const, content };
      return { items: [{ item: user, origins: content.map(() => origin) }], raw: 'unused' };
    }
    case 'assistant': {
      const own = item.raw === undefined ? undefined : writeOwnItems(item, ids);
      if (own === undefined) return { items: writeAssistant(item), raw: item.raw === undefined ? 'unused' : 'altered' };
      const items = own.items.map((sent) => ({ item: sent, origins: [origin] }));
      return { items, raw: own.isVerbatim ? 'verbatim' : 'altered' };
    }
    case 'result': {
      const content = item.parts.map(writePart);
      const [only] = content;
      const output = content.length === 1 && only?.type === 'input_text' ? only.text : content;
      return {
        items: [{ item: { type: 'function_call_output', call_id: item.callId, output }, origins: [origin] }],
        raw: 'unused',
      };
    }
  }
}

function writeAssistant({ origin, text, calls }: Extract<ArrangedItem, { kind: 'assistant' }>): LaidItem[] {
  const items: ResponsesItem[] = [
    ...(text === '' ? [] : [{ role: 'assistant' as const, content: text }]),
    ...calls.map((call) => ({
      type: 'function_call' as const,
      call_id: call.id,
      name: call.name,
      arguments: call.arguments,
    })),
  ];
  return items.map((item) => ({ item, origins: [origin] }));
}

function writePart(part: SentPart): InputText | InputImage {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image_url':
      return { type: 'input_image', image_url: part.url, detail: 'auto' };
    case 'image':
      return { type: 'input_image', image_url: `data:${part.mediaType};base64,${part.base64}`, detail: 'auto' };
  }
}
