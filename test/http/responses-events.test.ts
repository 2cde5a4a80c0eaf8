import * as fc from 'fast-check';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { expect, test } from 'vitest';
import type { TurnPart } from '../../src/api/client/index.ts';
import { type ResponseEvent, ResponseTable } from '../../src/api/http/responses/events.ts';
import { skipRead } from '../../src/api/http/responses/responses-app.ts';
import { legalTurns } from './legal-parts.ts';

const name = { conversation: 'c', turn: 't1' };

/** Reads events as the OpenAI client does. */
function readEvents(events: readonly ResponseEvent[]): Response | undefined {
  let response: Response | undefined;
  // The table is held to the types of the client by this reading alone.
  for (const event of events) response = accumulateResponse(event as unknown as ResponseStreamEvent, response);
  return response;
}

function translate(parts: readonly TurnPart[], answered?: string): { events: ResponseEvent[]; table: ResponseTable } {
  const facts = { name: { ...name, answered }, agent: 'a', createdAt: 1, background: false };
  const table = new ResponseTable(facts);
  const events = table.start(false);
  for (const part of parts) {
    events.push(...table.add(part));
    if (table.isDone) break;
  }
  return { events, table };
}

test('the events of every response, put together, equal the messages in the log', () => {
  const property = fc.property(legalTurns, ({ parts, texts, end }) => {
    let text = '';
    let answered: string | undefined;
    for (let waits = parts.filter(waitsForCaller); ; ) {
      const next = waits.shift();
      const seen = parts.filter((part) => !waitsForCaller(part) || part === next);
      const { events } = translate(seen, answered);
      const response = readEvents(events);
      text += response?.output_text ?? '';
      expect(response?.status).toBe(next ? 'completed' : end === 'canceled' ? 'cancelled' : end);
      if (next?.type !== 'wait') break;
      answered = next.waiting.calls[0]?.id;
    }
    expect(text).toBe(texts.join(''));
  });
  fc.assert(property, { numRuns: 300 });
});

test('a reader of a response that resumes gets the same text, however the text is cut into pieces', () => {
  const property = fc.property(legalTurns, fc.nat(), ({ parts, texts }, at) => {
    const whole = parts.filter((part) => !waitsForCaller(part) && part.type !== 'restart' && !isVoid(part, parts));
    const { events } = translate(whole);
    const place = events[at % events.length]?.sequence_number ?? 0;
    const known = events.filter((event) => event.sequence_number <= place);
    const rest = translate(whole.flatMap(cut)).events.flatMap((event) => skipRead(event, place) ?? []);
    const deltas = [...known, ...rest].filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas.map(({ delta }) => delta).join('')).toBe(texts.join(''));
  });
  fc.assert(property, { numRuns: 300 });
});

/** True for a part before a restart of its step. */
function isVoid(part: TurnPart, parts: readonly TurnPart[]): boolean {
  const restart = parts.findLastIndex(
    (other) => other.type === 'restart' && 'step' in part && other.step === part.step,
  );
  return parts.indexOf(part) < restart;
}

/** Cuts a text into its characters. */
function cut(part: TurnPart): TurnPart[] {
  return part.type === 'text' ? Array.from(part.piece, (piece) => ({ ...part, piece })) : [part];
}

function waitsForCaller(part: TurnPart): boolean {
  return part.type === 'wait' && part.waiting.calls.length > 0;
}
