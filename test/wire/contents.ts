import { groupMessages } from '../../src/domain/group.ts';
import type { Message } from '../../src/domain/message.ts';
import { type ContentPart, readParts } from '../../src/domain/parts.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { renderSummary } from '../../src/domain/summary.ts';
import { readCallArguments } from '../../src/wire/calls.ts';
import type { WireRequest } from '../../src/wire/wire-request.ts';

/** Everything that a model can read in a request, in order. */
export interface Contents {
  readonly texts: readonly string[];
  /** The pictures, as base64 data or URLs. */
  readonly pictures: readonly string[];
  /** Arguments of each tool call, as compact JSON. */
  readonly calls: readonly string[];
  /** For each tool result, the index of the call that it answers. */
  readonly answered: readonly number[];
}

/** Fields that blocks, messages and items of the three formats may have. */
interface Piece {
  readonly type?: string;
  readonly role?: string;
  readonly text?: string;
  readonly content?: string | readonly Piece[];
  readonly output?: string | readonly Piece[];
  readonly id?: string;
  readonly call_id?: string;
  readonly tool_use_id?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[];
  readonly input?: unknown;
  readonly arguments?: string;
  readonly source?: { readonly data?: string; readonly url?: string };
  readonly image_url?: string | { readonly url: string };
}

/** Reads a request body of any format in the way its provider reads it. */
export function readContents(body: unknown): Contents {
  const {
    system = [],
    instructions,
    messages = [],
    input = [],
  } = JSON.parse(JSON.stringify(body)) as {
    readonly system?: readonly Piece[];
    readonly instructions?: string;
    readonly messages?: readonly Piece[];
    readonly input?: readonly Piece[];
  };
  const texts: string[] = instructions === undefined ? [] : [instructions];
  const pictures: string[] = [];
  const calls: string[] = [];
  const ids: (string | undefined)[] = [];
  const answered: number[] = [];
  const addCall = (id: string | undefined, given: unknown): void => {
    ids.push(id);
    calls.push(JSON.stringify(given));
  };
  const readList = (list: string | readonly Piece[] = []): void => {
    if (typeof list === 'string') texts.push(list);
    else list.forEach(read);
  };
  const read = (piece: Piece): void => {
    const result = piece.tool_use_id ?? piece.tool_call_id ?? (piece.output === undefined ? undefined : piece.call_id);
    if (result !== undefined && piece.type !== 'web_search_tool_result') answered.push(ids.indexOf(result));
    if (piece.text !== undefined) texts.push(piece.text);
    if (piece.source !== undefined) pictures.push(piece.source.data ?? piece.source.url ?? '');
    const url = typeof piece.image_url === 'object' ? piece.image_url.url : piece.image_url;
    if (url !== undefined) pictures.push(url.replace(/^data:[^,]*,/, ''));
    if (piece.type === 'tool_use') addCall(piece.id, piece.input);
    if (piece.type === 'function_call') addCall(piece.call_id, JSON.parse(piece.arguments ?? ''));
    readList(piece.content ?? undefined);
    readList(piece.output);
    for (const call of piece.tool_calls ?? []) addCall(call.id, JSON.parse(call.function.arguments));
  };
  [...system, ...messages, ...input].forEach(read);
  return { texts, pictures, calls, answered };
}

/**
 * Returns what a request must contain for a provider: the agent's prompt, then the messages, with tool results after their
 * calls.
 */
export function expectedContents({ system, messages }: WireRequest, format: WireFormat): Contents {
  const ordered = groupMessages(messages).flatMap(({ positions }) => positions.map((at) => messages[at] as Message));
  const made = ordered.flatMap(({ toolCalls = [] }) => toolCalls);
  return {
    texts: [system, ...ordered.flatMap(textsOf)]
      .filter((text) => text.trim() !== '')
      .map((text) => text.toWellFormed()),
    pictures: ordered
      // Wire rule A12: Anthropic accepts no picture in the result of a failed tool call.
      .filter(({ isError }) => !(format === 'anthropic' && isError === true))
      .flatMap((message) => (isTextOnly(message) ? [] : readParts(message).flatMap(pictureOf))),
    calls: made.map((call) => {
      const { input, arguments: given } = readCallArguments(call);
      return JSON.stringify(format === 'anthropic' ? input : JSON.parse(given));
    }),
    answered: ordered.flatMap(({ toolCallId }) =>
      toolCallId === undefined ? [] : [made.findIndex(({ id }) => id === toolCallId)],
    ),
  };
}

function textsOf(message: Message): string[] {
  const { role, content, summary } = message;
  // Wire rule A6: white space at the end of the last answer is not sent.
  if (role === 'assistant') return [content.trimEnd()];
  if (summary !== undefined) return [renderSummary(content, summary)];
  return readParts(message).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
}

function isTextOnly({ role }: Message): boolean {
  return role === 'assistant' || role === 'system';
}

function pictureOf(part: ContentPart): string[] {
  if (part.kind === 'image') return part.mediaType === 'image/tiff' ? [] : [part.base64];
  return part.kind === 'image_url' ? [part.url] : [];
}

/**
 * Returns the first expected text that is missing or out of order in the sent texts. The sent texts may include
 * additional ones.
 */
export function findLostText(sent: readonly string[], expected: readonly string[]): string | undefined {
  const all = sent.join('\u0000');
  let from = 0;
  return expected.find((text) => {
    const at = all.indexOf(text, from);
    from = at + text.length;
    return at < 0;
  });
}
