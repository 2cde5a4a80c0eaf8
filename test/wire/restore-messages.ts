import type { Message, ToolCall } from '../../src/domain/message.ts';
import type { ToolDescription } from '../../src/domain/model.ts';
import type { Part } from '../../src/domain/parts.ts';
import type { RawItem, WireFormat } from '../../src/domain/raw-items.ts';
import { type Marks, NO_ORIGIN, type Origin } from '../../src/wire/wire-request.ts';

/** Contents of a body in the form of a request. */
export interface WireMessages {
  /** the agent's prompt; '' where there is none */
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
}

/** One block or item of a body, as a format's reader found it. */
export interface Piece {
  /** number of the message that it stands in: without marks, the pieces of one place are one message, but for results */
  readonly place: number;
  /** of a body with marks: from `marks.origins` (`marks.system` for system texts) */
  readonly origin?: Origin;
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly parts?: readonly Part[];
  /** with its id as it was sent */
  readonly call?: ToolCall;
  readonly result?: { readonly callId: string; readonly isError: boolean };
  /** of a provider's own message, verbatim; with neither parts nor call it has no other form, and is kept as a raw item */
  readonly item?: RawItem;
}

export interface PieceSource {
  readonly format: WireFormat;
  readonly model: string;
  /** absent: the body is another's */
  readonly marks?: Marks | undefined;
}

/**
 * Puts messages together from what a reader found. With marks, what rendering did is undone: placeholders go, merged
 * messages part, hoisted ones return to their places, ids are ours again. What was never sent (pins, provider ids, the items
 * of other models) cannot come back. Without marks, system texts in front become the prompt.
 */
export function restoreMessages(
  pieces: readonly Piece[],
  source: PieceSource,
): Pick<WireMessages, 'system' | 'messages'> {
  const system: string[] = [];
  const drafts = new Map<string, Piece[]>();
  for (const piece of pieces) {
    if (isPrompt(piece, drafts.size === 0)) system.push(textOf(piece.parts));
    else if (piece.origin !== NO_ORIGIN) addTo(drafts, keyOf(piece), piece);
  }
  const restored = [...drafts.values()].map((draft) => ({
    origin: draft[0]?.origin ?? NO_ORIGIN,
    message: readDraft(draft, source),
  }));
  return { system: system.join('\n\n'), messages: inOrder(restored, source.marks) };
}

function isPrompt({ role, origin }: Piece, isInFront: boolean): boolean {
  return role === 'system' && (origin === undefined ? isInFront : origin === NO_ORIGIN);
}

function keyOf({ origin, place, result }: Piece): string {
  return origin === undefined ? `${place} ${result?.callId ?? ''}` : String(origin);
}

function addTo(drafts: Map<string, Piece[]>, key: string, piece: Piece): void {
  const draft = drafts.get(key);
  if (draft === undefined) drafts.set(key, [piece]);
  else draft.push(piece);
}

/** By origin, since a round's results were moved behind their call; a message that the body does not say comes back whole. */
function inOrder(restored: readonly { origin: Origin; message: Message }[], marks: Marks | undefined): Message[] {
  if (marks === undefined) return restored.map(({ message }) => message);
  const byOrigin = new Map([...restored.map(({ origin, message }) => [origin, message] as const), ...marks.replaced]);
  return [...byOrigin].toSorted(([a], [b]) => a - b).map(([, message]) => message);
}

function readDraft(draft: readonly Piece[], { format, model, marks }: PieceSource): Message {
  const [first] = draft as readonly [Piece, ...Piece[]];
  const parts = draft.flatMap((piece) => piece.parts ?? []);
  const calls = draft.flatMap(({ call }) => (call === undefined ? [] : [{ ...call, id: ourId(call.id, marks) }]));
  const items = draft.flatMap(({ item }) => (item === undefined ? [] : [item]));
  const isRaw = marks === undefined ? draft.some(hasNoOtherForm) : marks.raw.has(first.origin ?? NO_ORIGIN);
  return {
    role: first.role,
    content: textOf(parts),
    ...(parts.every((part) => part.kind === 'text') ? {} : { parts: parts.map(writePart) }),
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
    ...(first.result === undefined ? {} : { toolCallId: ourId(first.result.callId, marks) }),
    ...(first.result?.isError === true ? { isError: true } : {}),
    ...(isRaw && items.length > 0 ? { raw: { format, model, items } } : {}),
  };
}

function hasNoOtherForm({ item, parts, call, result }: Piece): boolean {
  return item !== undefined && parts === undefined && call === undefined && result === undefined;
}

function ourId(sent: string, marks: Marks | undefined): string {
  return marks?.callIds.get(sent) ?? sent;
}

function textOf(parts: readonly Part[] = []): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

/** A part as our files have it: OpenAI's form, which `readParts` reads. */
function writePart(part: Part): unknown {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${part.base64}` } };
    case 'image_url':
      return { type: 'image_url', image_url: { url: part.url } };
    case 'other':
      return part.given;
  }
}
