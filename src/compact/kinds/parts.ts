import type { Message } from '../../domain/message.ts';
import { isMapping } from '../../domain/parse.ts';
import type { Block } from '../../histories/blocks.ts';
import { inputOf } from '../../histories/writers/writer.ts';
import { type AddedText, blocksOf, type MessageKind, readPlain, type Survivor } from './kind.ts';

/** Messages of the AI SDK for a user interface, versions 4 to 7. One message holds all steps of an answer. */
export const uiKind: MessageKind = partsKind({
  name: 'ai-sdk-ui',
  partsOf: ({ parts }) => (Array.isArray(parts) ? blocksOf(parts) : undefined),
  withParts: ({ content, toolInvocations: _, ...message }, parts) => ({
    ...message,
    // Version 4 has the text of a message in two places.
    ...(typeof content === 'string' && { content: textOf(parts) }),
    parts,
  }),
});

/** Messages of Mastra, which keep parts like those of the AI SDK in their content. */
export const mastraKind: MessageKind = partsKind({
  name: 'mastra',
  partsOf: ({ content }) =>
    isMapping(content) && Array.isArray(content['parts']) ? blocksOf(content['parts']) : undefined,
  withParts: (message, parts) => ({
    ...message,
    content: { ...(isMapping(message['content']) ? message['content'] : {}), ...repeatedFields(message, parts), parts },
  }),
  addedFields: (given) => {
    const like = given.filter(isMapping).at(-1) ?? {};
    const { threadId, resourceId, createdAt } = like;
    return { threadId, resourceId, createdAt: createdAt ?? new Date(0), content: { format: 2, parts: [] } };
  },
});

/** Fields in which Mastra repeats the parts of a message. */
function repeatedFields({ content }: Block, parts: readonly Block[]): Block {
  const has = (key: string): boolean => isMapping(content) && content[key] !== undefined;
  const calls = parts.flatMap(({ toolInvocation }) => (isMapping(toolInvocation) ? [toolInvocation] : []));
  return {
    ...(has('content') && { content: textOf(parts) }),
    ...(has('toolInvocations') && { toolInvocations: calls }),
  };
}

function textOf(parts: readonly Block[]): string {
  return parts.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n');
}

interface PartsFormat {
  readonly name: 'ai-sdk-ui' | 'mastra';
  /** Returns undefined for a message without parts. */
  readonly partsOf: (message: Block) => Block[] | undefined;
  readonly withParts: (message: Block, parts: readonly Block[]) => Block;
  /** Fields of a new user message, besides its id, role and parts. */
  readonly addedFields?: (given: readonly unknown[]) => Block;
}

function partsKind({ name, partsOf, withParts, addedFields = () => ({}) }: PartsFormat): MessageKind {
  const listParts = (message: unknown): Block[] => (isMapping(message) ? (partsOf(message) ?? []) : []);
  return {
    name,
    recognizes: (messages) => messages.some((message) => partsOf(message) !== undefined),
    split: (message) => {
      const steps = divideSteps(listParts(message));
      return steps.length < 2 || !isMapping(message) ? [message] : steps.map((parts) => withParts(message, parts));
    },
    join: (given, parts, isRest) => {
      const joined = withParts(given as Block, parts.flatMap(listParts));
      return isRest ? { ...joined, id: `${String(joined['id'])}-rest` } : joined;
    },
    read: (parts, places, notes) => readPlain(parts.map(toUiMessage), places, notes),
    rewrite: (parts, survivors) =>
      (parts as readonly Block[]).map((part) => withParts(part, patchParts(listParts(part), survivors))),
    addUser: ({ text, id, given }: AddedText) =>
      withParts({ id, role: 'user', ...addedFields(given) }, [{ type: 'text', text }]),
  };
  function toUiMessage(message: unknown): unknown {
    if (!isMapping(message) || name === 'ai-sdk-ui') return message;
    const parts = partsOf(message);
    const { content } = message;
    return { role: message['role'], ...(parts === undefined ? { content } : { parts }) };
  }
}

/** Returns the id of the call that a part holds. */
function callIdOf({ toolCallId, toolInvocation }: Block): unknown {
  return toolCallId ?? (isMapping(toolInvocation) ? toolInvocation['toolCallId'] : undefined);
}

/** A step ends before the first part that is no call, and that follows a result. The reader of messages divides them alike. */
function divideSteps(parts: readonly Block[]): Block[][] {
  const steps: Block[][] = [[]];
  let hasResults = false;
  for (const part of parts) {
    const isCall = callIdOf(part) !== undefined;
    if (hasResults && !isCall) steps.push([]);
    hasResults = isCall && (hasResults || isAnswered(part));
    steps.at(-1)?.push(part);
  }
  return steps;
}

function isAnswered({ state, toolInvocation }: Block): boolean {
  if (isMapping(toolInvocation)) return toolInvocation['state'] === 'result';
  return typeof state === 'string' && state.startsWith('output-');
}

function patchParts(parts: readonly Block[], survivors: readonly Survivor[]): Block[] {
  const speech = survivors.find(({ message }) => message.role !== 'tool');
  const calls = new Map(speech?.message.toolCalls?.map((call) => [call.id, call]));
  const results = new Map(survivors.map((survivor) => [survivor.message.toolCallId, survivor]));
  const texts: Block[] = speech?.isChanged === true ? [{ type: 'text', text: speech.message.content }] : [];
  const kept = parts.flatMap((part): Block[] => {
    const id = callIdOf(part);
    if (id === undefined)
      return speech === undefined || (speech.isChanged && part['type'] !== 'step-start') ? [] : [part];
    const call = calls.get(id as string);
    if (call === undefined) return [];
    const called = speech?.isChanged === true ? replaceInput(part, inputOf(call)) : part;
    const result = results.get(id as string);
    return [result?.isChanged === true ? replaceOutput(called, result.message) : called];
  });
  const start = kept[0]?.['type'] === 'step-start' ? 1 : 0;
  const text = texts.filter(({ text: written }) => written !== '');
  return [...kept.slice(0, start), ...text, ...kept.slice(start)];
}

function replaceInput(part: Block, input: Block): Block {
  const { toolInvocation, rawInput: _, ...rest } = part;
  return isMapping(toolInvocation)
    ? { ...rest, toolInvocation: { ...toolInvocation, args: input } }
    : { ...rest, input };
}

function replaceOutput(part: Block, { content, isError }: Message): Block {
  const { toolInvocation, output: _output, errorText: _error, ...rest } = part;
  if (isMapping(toolInvocation)) {
    return { ...rest, toolInvocation: { ...toolInvocation, state: 'result', result: content } };
  }
  return isError === true
    ? { ...rest, state: 'output-error', errorText: content }
    : { ...rest, state: 'output-available', output: content };
}
