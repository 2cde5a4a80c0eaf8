import { describe, expect, test } from 'vitest';
import { type ModelAnswer, ModelError } from '../../src/domain/model.ts';
import {
  checkAnswer,
  checkModelCompaction,
  readModelError,
  readPassedOver,
  readToolCallPiece,
  refuseEmptyAnswer,
} from '../../src/domain/model-answer.ts';

const usage = { inputTotal: 9, output: 3, outputKept: 3 };
const call = { id: 'c1', name: 'look', arguments: '{}' };

/** An answer of a model adapter that was written without TypeScript. */
const given = (value: unknown): ModelAnswer => value as ModelAnswer;

test('checkAnswer copies only the known fields of an answer', () => {
  const answer = { content: '', toolCalls: [call], end: 'cut_off', usage, model: 'm', raw: { items: [{ a: 1 }] } };
  const copy = checkAnswer(given({ ...answer, more: 1 }));
  expect(copy).toEqual(answer);
  expect(copy.raw).not.toBe(answer.raw);
  expect(checkAnswer(given({ content: 'x', toolCalls: [], end: null, usage: null, model: null, raw: null }))).toEqual({
    content: 'x',
    toolCalls: [],
  });
});

test.each<[unknown, string]>([
  [{ content: 'secret' }, 'answer.toolCalls'],
  [{ content: 5, toolCalls: [] }, 'answer.content'],
  [{ content: '', toolCalls: [{ ...call, name: undefined }] }, 'answer.toolCalls[0].name'],
  [null, 'answer'],
])('checkAnswer refuses the model answer %j as fatal, and names its field but not its content', (answer, field) => {
  const check = (): unknown => checkAnswer(given(answer));
  expect(check).toThrow(expect.objectContaining({ name: 'ModelError', kind: 'fatal', usage: undefined }));
  expect(check).toThrow(new RegExp(`^${RegExp.escape(field)}: (?!.*secret)`));
});

test('the error about an invalid model answer contains the answer’s token usage', () => {
  expect(() => checkAnswer(given({ usage }))).toThrow(expect.objectContaining({ usage }));
});

test.each<[string, unknown, string]>([
  ['a cycle', cyclic(), 'answer.raw'],
  ['a number that JSON does not know', { n: 5n }, 'answer.raw.n'],
  ['a getter that throws', broken(), 'answer.raw'],
])('checkAnswer refuses the original items of a provider with %s, and names the field', (_, raw, field) => {
  const check = (): unknown => checkAnswer(given({ content: '', toolCalls: [], raw }));
  expect(check).toThrow(new RegExp(`^${RegExp.escape(field)}`));
});

test('checkAnswer refuses a model answer as fatal if reading its content throws', () => {
  expect(() => checkAnswer(broken())).toThrow(expect.objectContaining({ name: 'ModelError', kind: 'fatal' }));
});

test('checkAnswer refuses a model answer whose text and tool calls exceed the size of a message', () => {
  const answer = { content: 'x'.repeat(600_000), toolCalls: [{ ...call, arguments: 'y'.repeat(600_000) }] };
  expect(() => checkAnswer(given(answer))).toThrow(/text and tool calls exceed/);
});

function cyclic(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

function broken(): object {
  return Object.defineProperty({}, 'content', {
    enumerable: true,
    get: () => {
      throw new Error('no');
    },
  });
}

describe('a compaction made by a provider', () => {
  test('checkCompaction copies the text, original items and token usage of a compaction by the provider', () => {
    expect(checkModelCompaction({ text: 'short', raw: [1], usage, more: 1 })).toEqual({
      text: 'short',
      raw: [1],
      usage,
    });
    expect(checkModelCompaction({ text: null, raw: null })).toEqual({ raw: null });
  });

  test('checkCompaction names the field of an invalid compaction and keeps its token usage', () => {
    expect(() => checkModelCompaction({ text: 5, usage })).toThrow(
      expect.objectContaining({
        name: 'ModelError',
        kind: 'fatal',
        usage,
        message: expect.stringMatching(/^compaction\.text/) as string,
      }),
    );
  });
});

describe('an error that a model throws', () => {
  const now = 1_700_000_000_000;

  test('readModelError keeps the kind, code, outline, usage and retry time of a ModelError', () => {
    const thrown = new ModelError('retry', 'slow down', { retryAt: now + 5_000, code: 'rate', form: '{}', usage });
    expect(readModelError(thrown, now)).toMatchObject({
      kind: 'retry',
      message: 'slow down',
      retryAt: now + 5_000,
      code: 'rate',
      form: '{}',
      usage,
    });
  });

  test('readModelError treats an unknown kind of error as fatal and limits the length of its message', () => {
    const thrown = Object.assign(new ModelError('fatal', 'x'.repeat(5_000_000)), {
      kind: 'odd',
      retryAt: now * 1_000,
      form: 7,
      usage: { inputTotal: 3, output: 'many' },
    });
    const error = readModelError(thrown, now);
    expect(error).toMatchObject({ kind: 'fatal', retryAt: undefined, form: undefined, usage: { inputTotal: 3 } });
    expect(error.message.length).toBeLessThan(100_000);
  });

  test.each([
    [new TypeError('the prompt'), 'TypeError'],
    [Object.create(null), ''],
    [undefined, ''],
  ])('readModelError keeps only the name of a thrown value without an error code: %s', (thrown, name) => {
    const error = readModelError(thrown, now);
    expect(error).toMatchObject({ name: 'ModelError', kind: 'fatal' });
    expect(error.message).toContain(name);
    expect(error.message).not.toContain('prompt');
  });

  test('readPassedOver limits the length of the report about a failed model of a fallback list', () => {
    expect(readPassedOver('a', 'retry')).toEqual({ model: 'a', outcome: 'retry' });
    expect(readPassedOver({}, Symbol('kind'))).toEqual({ model: 'unknown', outcome: 'fatal' });
  });
});

describe('a piece of a tool call', () => {
  test.each([
    [
      { call: 0, name: 'look' },
      { call: 0, name: 'look' },
    ],
    [
      { call: 2, arguments: '{"a' },
      { call: 2, arguments: '{"a' },
    ],
    [{ call: 1, name: 7, arguments: 5 }, { call: 1 }],
  ])('readToolCallPiece reads the streamed piece %j as %j', (piece, read) => {
    expect(readToolCallPiece(piece)).toEqual(read);
  });

  test.each([undefined, null, 'call', {}, { call: -1 }, { call: 0.5 }, { call: '0' }])(
    'readToolCallPiece ignores %j, because it has no valid call index',
    (piece) => {
      expect(readToolCallPiece(piece)).toBeUndefined();
    },
  );

  test('readToolCallPiece ignores a piece whose fields throw when they are read', () => {
    const hostile = {
      get call(): number {
        throw new Error('the prompt');
      },
    };
    expect(readToolCallPiece(hostile)).toBeUndefined();
  });
});

test.each<[string, Partial<ModelAnswer>]>([
  ['text', { content: 'Yes.' }],
  ['tool calls', { toolCalls: [call] }],
  ['a refusal without text', { end: 'refusal' }],
])('refuseEmptyAnswer accepts an answer with %s', (_, answer) => {
  expect(() => refuseEmptyAnswer({ content: ' ', toolCalls: [], ...answer })).not.toThrow();
});

test.each<[string, string, Partial<ModelAnswer>]>([
  ['ended', 'retry', {}],
  ['was cut off', 'fatal', { end: 'cut_off', usage }],
])('refuseEmptyAnswer refuses an empty answer that %s, with an error of the kind %s', (_, kind, answer) => {
  const refuse = (): void => refuseEmptyAnswer({ content: ' ', toolCalls: [], ...answer });
  expect(refuse).toThrow(expect.objectContaining({ kind, code: 'empty_answer', usage: answer.usage }));
});
