import type { Message } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import type { EarlierSummary } from '../../domain/ports/summarizer.ts';

/** A message as data. Only `body` is ever clipped, so that no message can lose its end. */
export interface TranscriptMessage {
  readonly seq: number;
  readonly open: string;
  readonly body: string;
  readonly close: string;
}

/** The tags of ours: data that holds one shows it broken, and can neither end nor open a message, a transcript or a record. */
const OWN_TAG = /<(?=[\s/]*(?:transcript|message|call|record|asked)\b)/gi;

/** @param firstSeq of the first message; they have no gap */
export function renderMessages(messages: readonly Message[], firstSeq: number): TranscriptMessage[] {
  const callNames = new Map(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name])));
  return messages.map((message, position) => {
    const seq = firstSeq + position;
    const open = `<message seq="${seq}" role="${message.role}"${describeResult(message, callNames)}>`;
    return { seq, open, body: renderBody(message), close: '</message>' };
  });
}

export function renderTranscript(messages: readonly TranscriptMessage[]): string {
  const lines = messages.map(({ open, body, close }) => `${open}\n${body}\n${close}`);
  return ['<transcript>', ...lines, '</transcript>'].join('\n');
}

export function renderRecord({ text, covers }: EarlierSummary): string {
  return `<record messages="${covers.from}-${covers.to}">\n${breakTags(text)}\n</record>`;
}

export function renderAsked(text: string): string {
  return `<asked>\n${breakTags(text)}\n</asked>`;
}

function describeResult(
  { role, toolCallId = '', isError = false }: Message,
  callNames: ReadonlyMap<string, string>,
): string {
  if (role !== 'tool') return '';
  return `${attribute('of', callNames.get(toolCallId) ?? 'unknown')}${isError ? ' error="true"' : ''}`;
}

function renderBody(message: Message): string {
  const others = readParts(message).filter(({ kind }) => kind !== 'text');
  const calls = message.toolCalls ?? [];
  return [
    ...(message.content === '' ? [] : [breakTags(message.content)]),
    ...others.map(({ kind }) => `[${kind}]`),
    ...calls.map((call) => `<call${attribute('name', call.name)}>${breakTags(call.arguments)}</call>`),
  ].join('\n');
}

function attribute(name: string, value: string): string {
  return ` ${name}="${value.replace(/["<>&\s]+/g, '_')}"`;
}

function breakTags(text: string): string {
  return text.replace(OWN_TAG, '&lt;');
}
