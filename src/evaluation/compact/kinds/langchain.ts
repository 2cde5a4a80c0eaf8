import type { Message } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import { ForeignMessages } from '../../../wire/histories/formats/format.ts';
import { langchain, unwrapLangchain } from '../../../wire/histories/formats/langchain.ts';
import type { Block } from '../../../wire/histories/values.ts';
import { inputOf } from '../../../wire/histories/writers/writer.ts';
import { type AddedText, type MessageKind, readPlain, type Survivor } from './kind.ts';

/** Instances of LangChain's classes, and their dictionaries. */
export const langchainKind: MessageKind = {
  name: 'langchain',
  recognizes: (messages) => langchain.recognizes([{ value: messages.map(toDictionary), at: '' }]),
  read: (parts, places, notes) => {
    const foreign = new ForeignMessages();
    for (const [index, part] of parts.entries()) {
      const at = places[index] ?? '';
      const dictionary = toDictionary(part);
      const unwrapped = isMapping(dictionary) ? unwrapLangchain(dictionary, at, foreign) : dictionary;
      if (unwrapped !== undefined) foreign.add(unwrapped, at);
    }
    const { messages, places: kept, notes: own } = foreign.finish();
    for (const { kind, at, what, count } of own) notes.add(kind, at, what, count);
    return readPlain(messages, kept, notes);
  },
  rewrite: (parts, survivors, given) => survivors.map((survivor) => rewriteMessage(parts[0], survivor, given)),
  addUser: ({ text, id, given }: AddedText) => build(given, 'human', { content: text, id }),
};

interface Instance {
  readonly lc_kwargs: Block;
  readonly id?: unknown;
  readonly constructor: new (fields: Block) => object;
}

function isInstance(message: unknown): message is Instance {
  return isMapping(message) && isMapping(message['lc_kwargs']) && typeof message['toDict'] === 'function';
}

/** Reads an instance as the dictionary that `toDict` returns. Other fields of an instance repeat that dictionary. */
function toDictionary(message: unknown): unknown {
  if (!isInstance(message)) return message;
  return (message as unknown as { toDict(): unknown }).toDict();
}

/** Takes text and calls from the context, and other fields from the given message. */
function rewriteMessage(part: unknown, { message, isChanged }: Survivor, given: readonly unknown[]): unknown {
  if (!isChanged) return part;
  const type = TYPES[message.role] ?? 'human';
  const fields = fieldsOf(message);
  if (typeOf(part) !== type || !isMapping(part)) return build(given, type, fields);
  if (isInstance(part)) {
    const { additional_kwargs: _, ...kept } = part.lc_kwargs;
    return new part.constructor({ ...kept, ...(part.id !== undefined && { id: part.id }), ...fields });
  }
  if (isMapping(part['data'])) return { ...part, data: { ...part['data'], ...fields } };
  if (isMapping(part['kwargs'])) return { ...part, kwargs: { ...part['kwargs'], ...fields } };
  return { ...part, ...fields };
}

const TYPES: Readonly<Record<Message['role'], string>> = {
  system: 'system',
  user: 'human',
  assistant: 'ai',
  tool: 'tool',
  summary: 'human',
};

function typeOf(message: unknown): unknown {
  const dictionary = toDictionary(message);
  return isMapping(dictionary) ? dictionary['type'] : undefined;
}

function fieldsOf({ role, content, toolCalls, toolCallId, isError }: Message): Block {
  const calls = toolCalls?.map((call) => ({ id: call.id, name: call.name, args: inputOf(call), type: 'tool_call' }));
  return {
    content,
    ...(calls !== undefined && { tool_calls: calls }),
    ...(role === 'tool' && { tool_call_id: toolCallId, status: isError === true ? 'error' : 'success' }),
  };
}

/** Roles that LangChain accepts instead of instances. */
const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant', tool: 'tool', system: 'system' };

/** Builds a message of the same form as the given messages. If they are instances, the class of one of them is used. */
function build(given: readonly unknown[], type: string, fields: Block): unknown {
  const like = given.find((message) => typeOf(message) === type);
  if (isInstance(like)) return new like.constructor(fields);
  if (given.some(isInstance)) return { role: ROLES[type], ...fields };
  return given.some((message) => isMapping(message) && isMapping(message['data']))
    ? { type, data: fields }
    : { type, ...fields };
}
