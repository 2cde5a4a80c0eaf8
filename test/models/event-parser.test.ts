import { Stream } from '@anthropic-ai/sdk/streaming';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { EventParser } from '../../src/providers/event-parser.ts';

type Event = readonly [data: string, name: string | undefined];

function parse(chunks: readonly Uint8Array[]): Event[] {
  const events: Event[] = [];
  const parser = new EventParser((data, name) => void events.push([data, name || undefined]));
  for (const chunk of chunks) parser.push(chunk);
  parser.end();
  return events;
}

/** Cuts bytes at the given places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

const line = fc.constantFrom(
  'data: {"a":"ä😀"}',
  'data:x',
  'data',
  'data: ',
  'database: y',
  'event: ping',
  'event:error',
  'event',
  'eventually: z',
  ': comment',
  'id: 7',
  '',
);
const lines = fc.array(fc.tuple(line, fc.constantFrom('\n', '\n\n', '\r\n', '\r', '\r\r\n')), { maxLength: 12 });
const text = fc.tuple(fc.constantFrom('', '\uFEFF'), lines).map(([mark, given]) => mark + given.flat().join(''));

it('the event parser reads the same events as the SDK, wherever the bytes are split', async () => {
  const places = fc.array(fc.nat(), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(text, places, async (given, at) => {
      // The SDK drops an event without an empty line after it.
      const bytes = new TextEncoder().encode(`${given}\n\n`);
      const theirs: Event[] = [];
      for await (const { data, event } of Stream.rawEvents(new Response(bytes)))
        if (data !== '') theirs.push([data, event || undefined]);
      expect(parse(cut(bytes, at)).filter(([data]) => data !== '')).toEqual(theirs);
    }),
  );
});

it('the event parser reads the last event of a stream even if no blank line follows', () => {
  expect(parse([new TextEncoder().encode('event: e\ndata: x')])).toEqual([['x', 'e']]);
});

it('the event parser reads an event of a megabyte that arrives in pieces', () => {
  const data = 'ä'.repeat(500_000);
  const bytes = new TextEncoder().encode(`data: ${data}\n\n`);
  const places = Array.from({ length: 1_000 }, (_, index) => index * 1_000);
  expect(parse(cut(bytes, places))).toEqual([[data, undefined]]);
});
