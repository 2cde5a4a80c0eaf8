import * as fc from 'fast-check';
import { groupMessages } from '../../src/domain/group.ts';
import type { Message, ToolCall } from '../../src/domain/message.ts';
import type { RawItem, RawItems, WireFormat } from '../../src/domain/raw-items.ts';
import type { WireRequest } from '../../src/wire/wire-request.ts';
import { JPEG_PIXEL, PIXEL } from '../fakes/contents.ts';
import { type RawAnswer, THINKING_PLACES, type ThinkingPlace, writeRawItems } from './raw-answers.ts';

const MODEL = 'model-1';
const VERSION = 3;

export interface HistoryOptions {
  /**
   * If true, the history ends with a message that the model may answer (wire rule X4). Otherwise it may end anywhere,
   * even with calls that lack results.
   */
  readonly isSendable?: boolean;
}

/** One step of a random history. Ids are added when the steps are joined. */
type Step =
  | { readonly kind: 'user' | 'system' | 'summary'; readonly message: Message }
  | { readonly kind: 'answer'; readonly text: string; readonly raw: RawChoice }
  | {
      readonly kind: 'round';
      readonly text: string;
      readonly raw: RawChoice;
      readonly calls: readonly CallChoice[];
      /** True if the tool results come in the reverse order of their calls. */
      readonly isReversed: boolean;
      /** Number of steps between the calls and their results, such as other messages and other tool rounds. */
      readonly lateBy: number;
    };

interface CallChoice {
  readonly id: 'log' | 'foreign' | 'long' | 'repeated';
  readonly name: string;
  readonly arguments: string;
  readonly result: Pick<Message, 'content' | 'parts' | 'isError'>;
}

/** How the provider's verbatim items of a message are generated. */
interface RawChoice {
  readonly source: 'none' | 'same' | 'same-version' | 'other-version' | 'other-prefix' | 'other-model' | 'other-format';
  readonly hasThinking: boolean;
  readonly place: ThinkingPlace;
}

const PICTURE = `data:image/png;base64,${PIXEL}`;
const TOOLS = ['list', 'read', 'search'];

const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 24 }) },
  fc.constantFrom('Done.', 'ends blank \n', '好 👍🏽', '"quoted" \\ {json}', '<summary>', '\ud83d cut in two'),
);
const blank = fc.constantFrom('', ' ', '\n\t');
const maybeBlank = fc.oneof({ weight: 4, arbitrary: text }, blank);

const picture = fc.constantFrom<unknown>(
  { type: 'image_url', image_url: { url: PICTURE } },
  { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: JPEG_PIXEL } },
  { type: 'image_url', image_url: { url: 'https://images.example/1.png' } },
  { type: 'image', source: { type: 'base64', media_type: 'image/tiff', data: 'SUkqAA==' } },
  { type: 'input_audio', input_audio: { data: '', format: 'wav' } },
);
/** Generates content with pictures around its text. */
const illustrated = fc
  .tuple(maybeBlank, fc.array(picture, { minLength: 1, maxLength: 2 }), fc.boolean())
  .map(([content, pictures, isNamed]) => ({
    content,
    parts: isNamed ? [...pictures, { type: 'text', text: content }] : pictures,
  }));
const said = fc.oneof({ weight: 6, arbitrary: maybeBlank.map((value) => ({ content: value })) }, illustrated);

const callArguments = fc.oneof(
  { weight: 6, arbitrary: fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 1 })) },
  fc.constantFrom({ path: 'src/a.ts' }, {}),
);
const call: fc.Arbitrary<CallChoice> = fc.record({
  id: fc.constantFrom('log', 'log', 'foreign', 'long', 'repeated'),
  name: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...TOOLS) },
    fc.constantFrom('gone', 'made up.tool', 'x'.repeat(128)),
  ),
  arguments: fc.oneof(
    { weight: 8, arbitrary: callArguments.map((value) => JSON.stringify(value)) },
    fc.constantFrom('', ' ', '{"path": "a", "n": 1.0}', '[1]', 'null', '{"cut": "o', '{"half":"\\ud83d"}'),
  ),
  result: fc
    .tuple(said, fc.option(fc.boolean(), { nil: undefined }))
    .map(([given, isError]) => ({ ...given, ...(isError === undefined ? {} : { isError }) })),
});

const raw: fc.Arbitrary<RawChoice> = fc.record({
  source: fc.constantFrom(
    'none',
    'same',
    'same-version',
    'same-version',
    'other-version',
    'other-prefix',
    'other-model',
    'other-format',
  ),
  hasThinking: fc.boolean(),
  place: fc.constantFrom<ThinkingPlace>('first', 'first', ...THINKING_PLACES),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: said.map((given): Step => ({ kind: 'user', message: { role: 'user', ...given } })),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(maybeBlank, raw).map(([given, from]): Step => ({ kind: 'answer', text: given, raw: from })),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('round' as const),
      text: fc.oneof(maybeBlank, fc.constant('')),
      raw,
      calls: fc.array(call, { minLength: 1, maxLength: 8 }),
      isReversed: fc.boolean(),
      lateBy: fc.constantFrom(0, 0, 0, 1, 2),
    }),
  },
  {
    weight: 1,
    arbitrary: text.map(
      (content): Step => ({
        kind: 'summary',
        message: { role: 'summary', content, summary: { from: 1, to: 9 } },
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: maybeBlank.map((content): Step => ({ kind: 'system', message: { role: 'system', content } })),
  },
);

/**
 * Generates requests with 1–8 parallel calls, thinking, pictures, illegal ids, empty results, late results and
 * summaries.
 */
export function histories(format: WireFormat, { isSendable = true }: HistoryOptions = {}): fc.Arbitrary<WireRequest> {
  return fc
    .tuple(fc.array(step, { maxLength: 12 }), maybeBlank, fc.boolean(), fc.integer({ min: 0, max: 8 }))
    .map(([steps, system, hasVersion, end]) => ({
      model: MODEL,
      system,
      tools: TOOLS.map((name) => ({ name, description: `Tool ${name}.`, parameters: { type: 'object' } })),
      messages: endMessages(buildMessages(steps, format), isSendable, end),
      ...(hasVersion ? { version: VERSION } : {}),
      maxOutputTokens: 4_096,
    }));
}

/** Returns true if only the last tool round may lack results, as in a stored context version. */
export function isOpenAtEndOnly(messages: readonly Message[]): boolean {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  return groupMessages(messages).every(({ isOpen, positions }) => !isOpen || positions[0] === last);
}

/** @param end number of results that are missing at the end of a history that may not be answered */
function endMessages(messages: readonly Message[], isSendable: boolean, end: number): Message[] {
  const last = messages.findLastIndex(({ role }) => role !== 'tool');
  if (!isSendable) return messages.slice(0, Math.max(last + 1, messages.length - end));
  const { role, toolCalls } = messages[last] ?? {};
  const isAnswerable = role === 'user' || role === 'summary' || toolCalls !== undefined;
  return isAnswerable && end % 2 === 0 ? [...messages] : [...messages, { role: 'user', content: 'Go on.' }];
}

function buildMessages(steps: readonly Step[], format: WireFormat): Message[] {
  const messages: Message[] = [];
  let late: { readonly due: number; readonly results: readonly Message[] }[] = [];
  const flush = (before: number): void => {
    for (const { results } of late.filter(({ due }) => due < before)) messages.push(...results);
    late = late.filter(({ due }) => due >= before);
  };
  steps.forEach((taken, index) => {
    switch (taken.kind) {
      case 'answer':
        messages.push(writeAssistant(taken.text, [], { choice: taken.raw, format, index }));
        break;
      case 'round': {
        const calls = taken.calls.map((choice, number) => makeCall(choice, messages.length, number));
        messages.push(writeAssistant(taken.text, calls, { choice: taken.raw, format, index }));
        const results = taken.calls.map(
          ({ result }, number): Message => ({ role: 'tool', ...result, toolCallId: calls[number]?.id ?? '' }),
        );
        late.push({ due: index + taken.lateBy, results: taken.isReversed ? results.toReversed() : results });
        break;
      }
      default:
        messages.push(taken.message);
    }
    flush(index + 1);
  });
  flush(Number.POSITIVE_INFINITY);
  return messages;
}

function makeCall({ id, name, arguments: given }: CallChoice, seq: number, index: number): ToolCall {
  const ours = `c${seq}_${index}`;
  const ids: Record<CallChoice['id'], Pick<ToolCall, 'id' | 'providerId'>> = {
    log: { id: ours, providerId: `toolu_${seq}x${index}` },
    foreign: { id: `call:${seq}/é ${index}` },
    long: { id: `${ours}_${'y'.repeat(200)}` },
    repeated: { id: ours, providerId: `call_${index}` },
  };
  return { ...ids[id], name, arguments: given };
}

interface RawSource {
  readonly choice: RawChoice;
  readonly format: WireFormat;
  readonly index: number;
}

function writeAssistant(content: string, calls: readonly ToolCall[], source: RawSource): Message {
  const rawItems = writeRaw({ text: content, calls }, source);
  return {
    role: 'assistant',
    content,
    ...(calls.length === 0 ? {} : { toolCalls: [...calls] }),
    ...(rawItems === undefined ? {} : { raw: rawItems }),
  };
}

function writeRaw(
  answer: Pick<RawAnswer, 'text' | 'calls'>,
  { choice, format, index }: RawSource,
): RawItems | undefined {
  const { source, hasThinking, place } = choice;
  // A provider writes only well-formed text, and only arguments that are JSON objects.
  const isWellFormed = answer.text.isWellFormed() && answer.calls.every(({ arguments: given }) => isObject(given));
  if (source === 'none' || !isWellFormed) return undefined;
  const sent = source === 'other-format' ? otherThan(format) : format;
  const items: RawItem[] = writeRawItems(sent, { ...answer, index, hasThinking, place });
  if (items.length === 0) return undefined;
  return {
    format: sent,
    model: source === 'other-model' ? 'model-2' : MODEL,
    ...(source === 'same' ? {} : { version: source === 'other-version' ? VERSION - 1 : VERSION }),
    ...(source === 'other-prefix' ? { prefix: 'of other tools' } : {}),
    items,
  };
}

function otherThan(format: WireFormat): WireFormat {
  return format === 'anthropic' ? 'openai-chat' : 'anthropic';
}

function isObject(given: string): boolean {
  try {
    const value: unknown = JSON.parse(given);
    return typeof value === 'object' && value !== null && !Array.isArray(value) && !given.includes('\\ud83d');
  } catch {
    return false;
  }
}
