import type { Message, ToolCall } from '../../domain/message.ts';
import type { EarlierSummary } from '../../domain/summarizer.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import type { EvidenceLine } from './evidence.ts';
import { describeAttachments } from './pictures.ts';

/** A message for a summarizing model. Only `body` is ever clipped, so every message keeps its closing tag. */
export interface TranscriptMessage {
  readonly seq: number;
  readonly open: string;
  readonly body: string;
  readonly close: string;
}

const OWN_TAG = /<(?=[\s/]*(?:transcript|message|call|record|user_request|evidence)\b)/gi;

/** @param firstSeq log number of the first message. The numbers have no gaps */
function renderMessages(messages: readonly Message[], firstSeq: number): TranscriptMessage[] {
  const calls = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => [call.id, call])));
  return messages.map((message, position) => {
    const seq = firstSeq + position;
    const call = message.toolCallId === undefined ? undefined : calls.get(message.toolCallId);
    const open = `<message seq="${seq}" role="${message.role}"${describeMessage(message, call)}>`;
    return { seq, open, body: renderBody(message, seq, call), close: '</message>' };
  });
}

export function renderTranscript(messages: readonly TranscriptMessage[]): string {
  const lines = messages.map(({ open, body, close }) => `${open}\n${body}\n${close}`);
  return ['<transcript>', ...lines, '</transcript>'].join('\n');
}

export function renderRecord({ text, covers }: EarlierSummary): string {
  return `<record messages="${covers.from}-${covers.to}">\n${breakTags(text)}\n</record>`;
}

export function renderUserRequest(text: string): string {
  return `<user_request>\n${breakTags(text)}\n</user_request>`;
}

export function renderEvidenceLine({ text, terms }: EvidenceLine): string {
  return breakTags(`${text} [${terms.join(', ')}]`);
}

export function renderEvidence(lines: readonly string[]): string {
  return ['<evidence>', ...lines, '</evidence>'].join('\n');
}

function describeMessage({ role, isError = false, stopped = false }: Message, call: ToolCall | undefined): string {
  if (role !== 'tool') return stopped ? ' stopped="true"' : '';
  return `${attribute('of', call?.name ?? 'unknown')}${isError ? ' error="true"' : ''}`;
}

function renderBody(message: Message, seq: number, call: ToolCall | undefined): string {
  const calls = message.toolCalls ?? [];
  return [
    ...(message.content === '' ? [] : [breakTags(message.content)]),
    ...describeAttachments(message, seq, call),
    ...calls.map((made) => `<call${attribute('name', made.name)}>${breakTags(made.arguments)}</call>`),
  ].join('\n');
}

function attribute(name: string, value: string): string {
  return ` ${name}="${value.replace(/["<>&\s]+/g, '_')}"`;
}

function breakTags(text: string): string {
  return text.replace(OWN_TAG, '&lt;');
}

export interface TranscriptPart {
  readonly messages: readonly TranscriptMessage[];
  readonly tokens: number;
}

interface Counted {
  readonly message: TranscriptMessage;
  readonly tokens: number;
}

const SEAM_TOKENS = 4;
/** Share of a clipped message that is kept from its start. The end usually has the error. */
const HEAD_SHARE = 0.6;
const OMISSION = '\n[… left out …]\n';
const OMISSION_TOKENS = 10;

/**
 * Splits messages into parts that fit. A round stays in one part. In a larger round, the largest messages are clipped.
 */
export async function splitTranscript(
  counter: TokenCounter,
  { messages, firstSeq }: { readonly messages: readonly Message[]; readonly firstSeq: number },
  maxTokens: number,
): Promise<TranscriptPart[]> {
  const borders = findBorders(messages);
  const groups: Counted[][] = [];
  for (const [position, message] of renderMessages(messages, firstSeq).entries()) {
    const counted = { message, tokens: await countMessage(counter, message) };
    if (borders[position] === true) groups.push([counted]);
    else groups.at(-1)?.push(counted);
  }
  const parts: { messages: TranscriptMessage[]; tokens: number }[] = [];
  for (const group of groups) {
    const fitted = sumTokens(group) <= maxTokens ? group : await clipGroup(counter, group, maxTokens);
    const tokens = sumTokens(fitted);
    const last = parts.at(-1);
    if (last === undefined || last.tokens + tokens > maxTokens) parts.push({ messages: [], tokens: 0 });
    const part = parts.at(-1) as (typeof parts)[number];
    part.messages.push(...fitted.map(({ message }) => message));
    part.tokens += tokens;
  }
  return parts;
}

/** Finds the places where all earlier calls have results. A part may start there. */
function findBorders(messages: readonly Message[]): boolean[] {
  const resultAt = new Map(messages.map(({ toolCallId }, position) => [toolCallId, position]));
  let reach = -1;
  return messages.map(({ toolCalls = [] }, position) => {
    const isBorder = position > reach;
    for (const { id } of toolCalls) reach = Math.max(reach, resultAt.get(id) ?? position);
    return isBorder;
  });
}

async function clipGroup(counter: TokenCounter, group: readonly Counted[], maxTokens: number): Promise<Counted[]> {
  const share = fairShare(
    group.map(({ tokens }) => tokens),
    maxTokens,
  );
  return await Promise.all(
    group.map(async (counted) => {
      if (counted.tokens <= share) return counted;
      const { seq, open, body, close } = counted.message;
      const frame = counter.countSync(open + close) + SEAM_TOKENS;
      const message = { seq, open, body: await clipMiddle(counter, body, share - frame), close };
      return { message, tokens: await countMessage(counter, message) };
    }),
  );
}

async function clipMiddle(counter: TokenCounter, text: string, maxTokens: number): Promise<string> {
  const kept = Math.max(0, maxTokens - OMISSION_TOKENS);
  const headTokens = Math.floor(kept * HEAD_SHARE);
  const [head, tail] = await Promise.all([
    counter.clipStart(text, headTokens),
    counter.clipEnd(text, kept - headTokens),
  ]);
  return head + OMISSION + tail;
}

async function countMessage(counter: TokenCounter, { open, body, close }: TranscriptMessage): Promise<number> {
  return counter.countSync(open + close) + (await counter.count(body)) + SEAM_TOKENS;
}

function sumTokens(counted: readonly Counted[]): number {
  return counted.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Maximum size of each item, so that all items fit. Small items leave room for large items. */
function fairShare(sizes: readonly number[], budget: number): number {
  let left = budget;
  let share = budget;
  sizes
    .toSorted((a, b) => a - b)
    .forEach((size, index) => {
      share = Math.max(0, Math.floor(left / (sizes.length - index)));
      left -= Math.min(size, share);
    });
  return share;
}
