import type { Message } from '../../../domain/message.ts';
import { isMapping } from '../../../domain/parse.ts';
import type { Block } from '../../../wire/histories/values.ts';
import { inputOf } from '../../../wire/histories/writers/writer.ts';
import { blocksOf, type MessageKind, readPlain, type Survivor } from './kind.ts';

/** The AI SDK's messages for a user interface, versions 4 to 7. One message may hold all steps of an answer. */
export const uiKind: MessageKind = {
  name: 'ai-sdk-ui',
  recognizes: (messages) => messages.some(({ parts }) => Array.isArray(parts)),
  split: (message) => {
    const steps = divideSteps(partsOf(message));
    return steps.length < 2 || !isMapping(message) ? [message] : steps.map((parts) => withParts(message, parts));
  },
  join: (given, parts, isRest) => {
    const joined = withParts(given as Block, parts.flatMap(partsOf));
    return isRest ? { ...joined, id: `${String(joined['id'])}-rest` } : joined;
  },
  read: readPlain,
  rewrite: (parts, survivors) =>
    (parts as readonly Block[]).map((part) => withParts(part, patchParts(partsOf(part), survivors))),
  addUser: ({ text, id }) => ({ id, role: 'user', parts: [{ type: 'text', text }] }),
};

function partsOf(message: unknown): Block[] {
  return isMapping(message) ? blocksOf(message['parts']) : [];
}

/** Moves texts and calls into the parts. Version 4 has both in two places. */
function withParts({ content, toolInvocations: _, ...message }: Block, parts: readonly Block[]): Block {
  const texts = parts.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  return { ...message, ...(typeof content === 'string' && { content: texts.join('\n') }), parts };
}

function callIdOf({ toolCallId, toolInvocation }: Block): unknown {
  return toolCallId ?? (isMapping(toolInvocation) ? toolInvocation['toolCallId'] : undefined);
}

/** Divides parts as their reader does: before the first part that follows a result and is no call. */
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
  const kept = parts.flatMap((part): Block[] => {
    const id = callIdOf(part);
    if (id === undefined) return speech?.isChanged === false || part['type'] === 'step-start' ? [part] : [];
    const call = calls.get(id as string);
    if (call === undefined) return [];
    const called = speech?.isChanged === true ? replaceInput(part, inputOf(call)) : part;
    const result = results.get(id as string);
    return [result?.isChanged === true ? replaceOutput(called, result.message) : called];
  });
  const text = speech?.isChanged === true ? speech.message.content : '';
  const start = kept[0]?.['type'] === 'step-start' ? 1 : 0;
  return [...kept.slice(0, start), ...(text === '' ? [] : [{ type: 'text', text }]), ...kept.slice(start)];
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
