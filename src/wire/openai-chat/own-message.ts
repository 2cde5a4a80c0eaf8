import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { RawItem } from '../../domain/raw-items.ts';
import { readCallArguments } from '../call-arguments.ts';
import { EMPTY_TEXT, isBlank } from '../sent-parts.ts';
import type { ArrangedItem, WireCall } from '../wire-request.ts';
import type { ChatAssistantMessage } from './body.ts';

type AssistantItem = Extract<ArrangedItem, { kind: 'assistant' }>;

/** Where servers put what an open model thought. */
const REASONING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

/** What is looked at of a message as its server wrote it; all else goes back as it came. */
const ownSchema = z.object({
  content: z.string().nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
});

type OwnCall = NonNullable<z.infer<typeof ownSchema>['tool_calls']>[number];

export interface OwnMessage {
  readonly message: ChatAssistantMessage;
  /** the message is the raw item, untouched */
  readonly isVerbatim: boolean;
}

/**
 * An assistant message that is sent as its server wrote it, with the fields that only the server knows: it may refuse a call
 * that comes back without the signature it put there. Undefined where it says something else than the message: it was edited
 * since.
 */
export function writeOwnMessage(item: AssistantItem): OwnMessage | undefined {
  const [given, ...others] = item.raw ?? [];
  const read = ownSchema.safeParse(given);
  if (given === undefined || others.length > 0 || !read.success) return undefined;
  const { content, tool_calls } = read.data;
  const own = tool_calls ?? [];
  if (!isSameText(content ?? '', item) || !areSameCalls(own, item.calls)) return undefined;
  const { tool_calls: _, ...rest } = given;
  const calls = own.map((call, index) => rename(call, item.calls[index] as WireCall));
  const message = {
    ...rest,
    role: 'assistant' as const,
    content: item.text === '' ? null : item.text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return { message, isVerbatim: isDeepStrictEqual(message, given) };
}

/** The same message without what the model thought; itself where it holds none. */
export function dropReasoning(message: ChatAssistantMessage): ChatAssistantMessage {
  if (!REASONING_FIELDS.some((field) => field in message)) return message;
  const fields = Object.entries(message).filter(([name]) => !REASONING_FIELDS.some((field) => field === name));
  return Object.fromEntries(fields) as unknown as ChatAssistantMessage;
}

/** Whether a message has fields of its server's own: they have no other form. */
export function hasOwnFields(message: RawItem): boolean {
  const { role: _role, content: _content, tool_calls: _calls, ...own } = message;
  return Object.values(own).some((value) => value !== null && value !== undefined);
}

function isSameText(said: string, { text }: AssistantItem): boolean {
  return isBlank(said) ? text === '' || text === EMPTY_TEXT : text === said;
}

function areSameCalls(own: readonly OwnCall[], calls: readonly WireCall[]): boolean {
  return own.length === calls.length && calls.every((call, index) => call.arguments === argumentsOf(own[index]));
}

/** As they are sent, since what is no JSON object is put into one (X7). */
function argumentsOf(call: OwnCall | undefined): string | undefined {
  return call === undefined ? undefined : readCallArguments(call.function).arguments;
}

function rename(own: OwnCall, { id, name, arguments: given }: WireCall): OwnCall & { readonly type: 'function' } {
  return { ...own, id, type: 'function', function: { ...own.function, name, arguments: given } };
}
