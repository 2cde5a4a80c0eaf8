import type { Message } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import { aiSdk, anthropic } from '../../../wire/histories/formats/chat-lists.ts';
import { isOwnMessage, OWN_FIELDS } from '../../../wire/histories/message-keys.ts';
import type { Block } from '../../../wire/histories/values.ts';
import { aiSdkWriter } from '../../../wire/histories/writers/ai-sdk.ts';
import { anthropicWriter } from '../../../wire/histories/writers/anthropic.ts';
import { openaiChatWriter } from '../../../wire/histories/writers/openai-chat.ts';
import { blocksOf, type MessageKind, readPlain, type Survivor, survivingMessages } from './kind.ts';

/** Messages of turnfold. A summary has the role `summary`. */
export const turnfoldKind: MessageKind = {
  name: 'turnfold',
  // Messages of the AI SDK 4 look like messages of turnfold, but have ids.
  recognizes: (messages) =>
    messages.some(
      (message) =>
        isOwnMessage(message) &&
        (message['id'] === undefined || OWN_FIELDS.some((field) => message[field] !== undefined)),
    ),
  read: readPlain,
  rewrite: (_parts, survivors) => survivingMessages(survivors),
  addUser: ({ text }) => ({ role: 'user', content: text }),
};

export const openaiChatKind: MessageKind = {
  name: 'openai-chat',
  recognizes: (messages) => messages.some(({ role }) => typeof role === 'string'),
  read: readPlain,
  rewrite: (_parts, survivors) => listUnder(openaiChatWriter.write(survivingMessages(survivors)), 'messages'),
  addUser: ({ text }) => ({ role: 'user', content: text }),
};

/** Messages of Anthropic, without the system prompt. */
export const anthropicKind: MessageKind = {
  name: 'anthropic',
  recognizes: (messages) => anthropic.recognizes([{ value: messages, at: '' }]),
  read: readPlain,
  rewrite: (parts, survivors) => {
    const patched = patchResults(parts, survivors, {
      idKey: 'tool_use_id',
      replace: ({ content: _, ...block }, result) => ({ ...block, content: result.content }),
    });
    return patched ?? listUnder(anthropicWriter.write(survivingMessages(survivors)), 'messages');
  },
  addUser: ({ text }) => ({ role: 'user', content: text }),
};

/** `ModelMessage`s of the AI SDK, and prompts of its language models. */
export const aiSdkKind: MessageKind = {
  name: 'ai-sdk',
  recognizes: (messages) => aiSdk.recognizes([{ value: messages, at: '' }]),
  read: (parts, places, notes) => readPlain(parts.map(flattenFiles), places, notes),
  rewrite: (parts, survivors) => {
    const patched = patchResults(parts, survivors, {
      idKey: 'toolCallId',
      replace: (block, { content, isError }) => ({
        ...block,
        output: { type: isError === true ? 'error-text' : 'text', value: content },
      }),
    });
    return patched ?? blocksOnly(aiSdkWriter.write(survivingMessages(survivors)));
  },
  addUser: ({ text }) => ({ role: 'user', content: [{ type: 'text', text }] }),
};

/** In a prompt of a language model, only system messages have strings as content. */
function blocksOnly(written: unknown): unknown[] {
  return (written as readonly Block[]).map((message) =>
    message['role'] !== 'system' && typeof message['content'] === 'string'
      ? { ...message, content: [{ type: 'text', text: message['content'] }] }
      : message,
  );
}

/** Turns each file into one string: base64 or an address. The AI SDK also allows bytes, `URL`s and typed objects. */
function flattenFiles(message: unknown): unknown {
  if (!isMapping(message) || !Array.isArray(message['content'])) return message;
  return { ...message, content: message['content'].map(flattenFile) };
}

function flattenFile(part: unknown): unknown {
  if (!isMapping(part)) return part;
  const { data, image } = part;
  if (data === undefined && image === undefined) return part;
  return {
    ...part,
    ...(data !== undefined && { data: flattenData(data) }),
    ...(image !== undefined && { image: flattenData(image) }),
  };
}

function flattenData(data: unknown): unknown {
  if (data instanceof URL) return data.href;
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64');
  if (data instanceof ArrayBuffer) return Buffer.from(data).toString('base64');
  if (!isMapping(data)) return data;
  const { type, url, text, reference } = data;
  if (type === 'data') return flattenData(data['data']);
  if (type === 'url') return flattenData(url);
  return type === 'text' ? Buffer.from(String(text)).toString('base64') : JSON.stringify(reference ?? data);
}

export function listUnder(document: unknown, key: string): unknown[] {
  return (document as Readonly<Record<string, unknown[]>>)[key] ?? [];
}

interface ResultBlocks {
  readonly idKey: string;
  readonly replace: (block: Block, result: Message) => Block;
}

/**
 * Changes the results of a message. Unchanged blocks keep all their keys. @returns undefined for a message with other
 * parts than results and texts
 */
function patchResults(
  parts: readonly unknown[],
  survivors: readonly Survivor[],
  { idKey, replace }: ResultBlocks,
): unknown[] | undefined {
  const [part] = parts;
  if (parts.length !== 1 || !isMapping(part) || part['role'] === 'assistant') return undefined;
  const given = blocksOf(part['content']);
  const speeches = survivors.filter(({ message }) => message.role !== 'tool');
  const results = new Map(survivors.map((survivor) => [survivor.message.toolCallId, survivor]));
  if (speeches.length > 1 || !given.some((block) => block[idKey] !== undefined)) return undefined;
  const [speech] = speeches;
  const content = given.flatMap((block): Block[] => {
    const id = block[idKey];
    // A tool message may also have answers to requests for approval.
    if (id === undefined) return part['role'] === 'tool' || speech?.isChanged === false ? [block] : [];
    const result = results.get(id as string);
    if (result === undefined) return [];
    return [result.isChanged ? replace(block, result.message) : block];
  });
  if (speech?.isChanged === true) content.push({ type: 'text', text: speech.message.content });
  const written = content.filter((block) => block[idKey] !== undefined).length;
  return written === survivors.length - speeches.length ? [{ ...part, content }] : undefined;
}
