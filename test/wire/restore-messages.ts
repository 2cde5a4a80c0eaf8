import type { Message, ToolCall } from '../../src/domain/message.ts';
import type { ToolDescription } from '../../src/domain/model.ts';
import type { Part } from '../../src/domain/parts.ts';
import type { RawItem, WireFormat } from '../../src/domain/raw-items.ts';
import { type Marks, NO_ORIGIN, type Origin } from '../../src/wire/wire-request.ts';

/** Contents of a body in the form of a request. */
export interface WireMessages {
  /** The agent's prompt, or ''. */
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly messages: readonly Message[];
}

/** One block or item of a body. */
export interface Piece {
  /** Number of its message. Without marks, the pieces of one place form one message, except results. */
  readonly place: number;
  /** Origin from `marks.origins`, or from `marks.system` for system texts. */
  readonly origin?: Origin;
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly parts?: readonly Part[];
  /** Call with its sent id. */
  readonly call?: ToolCall;
  readonly result?: { readonly callId: string; readonly isError: boolean };
  /** Raw item of the provider. Without parts and call it has no other form. */
  readonly item?: RawItem;
}

export interface PieceSource {
  readonly format: WireFormat;
  readonly model: string;
  /** Absent for a body from elsewhere. */
  readonly marks?: Marks | undefined;
}

/**
 * Restores messages from the pieces of a body. With marks, it undoes the rendering: it drops placeholders, splits
 * merged messages, and restores places and ids. Pins, provider ids and items of other models were never sent, so they
 * are lost. Without marks, leading system texts become the prompt.
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

/**
 * Sorts by origin, because results were moved behind their call. A message that the body does not hold completely comes
 * from the marks.
 */
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

/** Writes a part in OpenAI's form, which `readParts` reads. */
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
