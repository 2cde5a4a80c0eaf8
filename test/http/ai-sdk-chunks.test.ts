import type { UIMessage, UIMessageChunk } from 'ai';
import * as ai7 from 'ai';
import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TurnPart } from '../../src/api/client/index.ts';
import { listKnown, readChatRequest } from '../../src/api/http/ai-sdk/chat-request.ts';
import { chunkSchema } from '../../src/api/http/ai-sdk/chunk-schema.ts';
import { type Chunk, ChunkTable, type SdkVersion } from '../../src/api/http/ai-sdk/chunks.ts';
import { callsOf, textsOf } from './chat-page.ts';
import { explainDifference } from './described-events.ts';
import { legalTurns } from './legal-parts.ts';

const SDKS = { 5: ai5 as unknown as typeof ai7, 6: ai6 as unknown as typeof ai7, 7: ai7 };

/** Reads chunks as a page does: through the transport's parser, into the message that the page has. */
async function readChunks(version: SdkVersion, chunks: readonly Chunk[], message?: UIMessage) {
  const { DefaultChatTransport, readUIMessageStream } = SDKS[version];
  const body = [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join('');
  const transport = new DefaultChatTransport({ api: 'http://a', fetch: async () => new Response(body) });
  const stream = await transport.sendMessages({
    chatId: 'c',
    messages: [],
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  });
  const errors: unknown[] = [];
  let read = message;
  const isError = (chunk: UIMessageChunk): boolean => chunk.type === 'error';
  const valid = stream.pipeThrough(
    new TransformStream<UIMessageChunk, UIMessageChunk>({
      transform(chunk, controller) {
        if (isError(chunk)) errors.push(chunk);
        else controller.enqueue(chunk);
      },
    }),
  );
  const options = { stream: valid, terminateOnError: true, ...(message && { message }) };
  for await (const next of readUIMessageStream(options)) read = next;
  return { read, errors };
}

function translate(table: ChunkTable, parts: readonly TurnPart[]): Chunk[] {
  const chunks = [...table.start()];
  for (const part of parts) {
    chunks.push(...table.add(part));
    if (table.isDone) break;
  }
  return chunks;
}

test.for<SdkVersion>([5, 6, 7])(
  'the AI SDK chunks of every turn read as the messages of its log (AI SDK %s)',
  async (version) => {
    const property = fc.asyncProperty(legalTurns, async ({ parts, texts, calls, end }) => {
      let message: UIMessage | undefined;
      let errors: unknown[] = [];
      // A response ends where the turn waits for the page. The page answers, and the next response continues the message.
      for (let waits = -1; waits < parts.filter(waitsForPage).length; waits += 1) {
        const known = message && listKnown(readMessage(message));
        const seen = parts.filter((part, index) => !waitsForPage(part) || countWaits(parts.slice(0, index)) > waits);
        const chunks = translate(new ChunkTable({ turn: 't1', version, known }), seen);
        for (const chunk of chunks) expect(explainDifference(chunkSchema.options, chunk)).toBeUndefined();
        ({ read: message, errors } = await readChunks(version, chunks, message));
      }
      expect(textsOf(message).filter((_, index) => index < texts.length)).toEqual(
        texts.slice(0, textsOf(message).length),
      );
      expect(textsOf(message).join('')).toBe(texts.join(''));
      const shown = callsOf(message).filter(({ state }) => state !== 'output-error' || version === 7);
      expect(new Set(callsOf(message).map(({ toolCallId }) => toolCallId))).toEqual(new Set(calls.map(({ id }) => id)));
      expect(shown.every(({ state }) => state.startsWith('output-'))).toBe(true);
      expect(errors.length).toBe(end === 'failed' ? 1 : 0);
    });
    await fc.assert(property, { numRuns: 150 });
  },
);

function waitsForPage(part: TurnPart): boolean {
  return part.type === 'wait' && part.waiting.calls.length > 0;
}

function countWaits(parts: readonly TurnPart[]): number {
  return parts.filter(waitsForPage).length;
}

function readMessage(message: UIMessage) {
  return readChatRequest({ id: 'c', messages: [JSON.parse(JSON.stringify(message))] }).message;
}

test('the AI SDK chunks of a turn end with an error if recorded steps were lost', () => {
  const table = new ChunkTable({ turn: 't1', version: 7 });
  table.add({ type: 'text', id: '1', step: 2, piece: 'x' });
  const chunks = table.add({ type: 'restart', id: '2', step: 1 });
  expect(chunks.map(({ type }) => type)).toEqual(['text-end', 'finish-step', 'error', 'finish']);
  expect(table.isDone).toBe(true);
});

test.for<SdkVersion>([6, 7])(
  "a tool's own error that begins with the word denied is shown as an error, not as a denial (AI SDK %s)",
  (version) => {
    const show = (approval: object | undefined, content: string) => {
      const part = { type: 'tool-pay', toolCallId: 'c2_1', state: 'approval-responded', input: {}, approval };
      const message = { id: 't1', role: 'assistant', parts: [{ type: 'step-start' }, part] };
      const { message: read } = readChatRequest({ id: 'c', messages: [message] });
      const table = new ChunkTable({ turn: 't1', version, known: listKnown(read) });
      return table.add({ type: 'tool-result', id: '1', step: 1, call: 'c2_1', content, isError: true });
    };
    const denial = [{ type: 'tool-output-denied', toolCallId: 'c2_1' }];
    const error = (errorText: string) => [{ type: 'tool-output-error', toolCallId: 'c2_1', errorText, dynamic: true }];
    expect(show({ id: 'c2_1', approved: false }, 'denied: too dear')).toEqual(denial);
    expect(show({ id: 'c2_1' }, 'denied: the call was not approved before the deadline')).toEqual(denial);
    expect(show({ id: 'c2_1' }, 'denied by the bank')).toEqual(error('denied by the bank'));
    expect(show({ id: 'c2_1', approved: true }, 'denied: the card is blocked')).toEqual(
      error('denied: the card is blocked'),
    );
    expect(show(undefined, 'denied: the card is blocked')).toEqual(error('denied: the card is blocked'));
  },
);
