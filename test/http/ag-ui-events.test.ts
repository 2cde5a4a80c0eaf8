import { HttpAgent } from '@ag-ui/client';
import { HttpAgent as OlderAgent, EventSchemas as OlderSchema } from '@ag-ui/client59';
import type { Message } from '@ag-ui/core';
import { EventSchema } from '@ag-ui/core/schemas';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TurnPart } from '../../src/api/client/index.ts';
import { convertToForm } from '../../src/api/http/ag-ui/event-form.ts';
import { agUiEventSchema } from '../../src/api/http/ag-ui/event-schema.ts';
import { type AgUiEvent, EventTable } from '../../src/api/http/ag-ui/events.ts';
import { explainDifference } from './described-events.ts';
import { legalTurns } from './legal-parts.ts';

const CLIENTS = {
  '1.0': { schema: EventSchema, Client: HttpAgent },
  // Its types of messages differ in fields that this test does not read.
  older: { schema: OlderSchema, Client: OlderAgent as unknown as typeof HttpAgent },
} as const;
type Form = keyof typeof CLIENTS;

/** Reads events as a front-end does, into the messages that it has. */
async function readEvents(form: Form, events: readonly AgUiEvent[], messages: Message[]): Promise<Message[]> {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const answer = async (): Promise<Response> =>
    new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  const { Client } = CLIENTS[form];
  const agent = new Client({ url: 'http://a', threadId: 't', initialMessages: messages, fetch: answer });
  await agent.runAgent({ runId: 'r' }).catch((error: unknown) => {
    if (!events.some(({ type }) => type === 'RUN_ERROR')) throw error;
  });
  return agent.messages;
}

const forms = Object.keys(CLIENTS) as Form[];

test.each(forms)('the AG-UI events of every turn read as the messages of its log, in the form %s', async (form) => {
  const property = fc.asyncProperty(legalTurns, async ({ parts, texts, calls, end }) => {
    let messages: Message[] = [{ id: 'm', role: 'user', content: 'go' }];
    let answered: Set<string> | undefined;
    let last: AgUiEvent | undefined;
    let waits = 0;
    do {
      const table = new EventTable({ threadId: 't', runId: 'r', turn: 't1', messages, ...(answered && { answered }) });
      const made: AgUiEvent[] = [{ type: 'RUN_STARTED', threadId: 't', runId: 'r', protocolVersion: '1.0' }];
      let passed = 0;
      for (const part of parts) {
        if (waitsForFrontEnd(part) && passed < waits) passed += 1;
        else made.push(...table.add(part));
        if (!table.isDone) continue;
        answered = new Set(part.type === 'wait' ? part.waiting.calls.map(({ id }) => id) : []);
        break;
      }
      const events = made.map((event) => convertToForm(event, form));
      for (const event of events) {
        expect(CLIENTS[form].schema.safeParse(event).error).toBeUndefined();
        expect(explainDifference(agUiEventSchema.options, event)).toBeUndefined();
      }
      messages = await readEvents(form, events, messages);
      last = events.at(-1);
      waits += 1;
    } while ((answered?.size ?? 0) > 0);
    const assistant = messages.filter(({ role }) => role === 'assistant');
    const said = assistant.map(({ content }) => (typeof content === 'string' ? content : ''));
    expect(said.join('')).toBe(texts.join(''));
    const shown = assistant.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
    expect(shown.map((call) => ({ id: call.id, arguments: call.function.arguments }))).toEqual(
      calls.map((call) => ({ id: call.id, arguments: call.arguments })),
    );
    const results = messages.filter(({ role }) => role === 'tool');
    expect(results.map(({ content }) => content)).toEqual(calls.map(({ content }) => content));
    expect(last?.type).toBe(end === 'failed' ? 'RUN_ERROR' : 'RUN_FINISHED');
  });
  await fc.assert(property, { numRuns: 150 });
});

function waitsForFrontEnd(part: TurnPart): boolean {
  return part.type === 'wait' && part.waiting.calls.length > 0;
}
