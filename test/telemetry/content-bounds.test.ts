import { expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import {
  boundContent,
  describeContentLine,
  describeContentSpan as describeForSpan,
} from '../../src/telemetry/contents.ts';
import { createRedaction } from '../../src/telemetry/secrets.ts';
import { holdsShortly } from '../setup/held-loop.ts';

const scope = { tenant: '_', conversation: 'c', turn: 't' };
const SECRET = `sk-${'x'.repeat(40)}`;

test('a long text in a log line is cut at a blank, so that no part of a secret is shown', () => {
  const content = `${'a '.repeat(8_180)}${SECRET}${' b'.repeat(20_000)}`;
  const bounded = boundContent({ type: 'tool_answered', name: 'read', call: 'c1_0', content, ...scope });
  const shown = bounded.type === 'tool_answered' ? bounded.content : '';
  expect(shown.length).toBeLessThan(16_500);
  expect(shown).not.toContain('sk-');
  expect(shown).toMatch(/… \[\d+ more characters\]$/);
});

test('a short text is logged whole', () => {
  const event = {
    type: 'tool_call_started',
    name: 'read',
    call: 'c1_0',
    arguments: '{"path":"a.ts"}',
    ...scope,
  } as const;
  expect(boundContent(event)).toEqual(event);
});

test('the log line of a large request shows its newest messages and counts the hidden ones', () => {
  const messages = Array.from({ length: 200 }, (_, index): Message => {
    return { role: 'user', content: `${index} ${'word '.repeat(1_000)}` };
  });
  const bounded = boundContent({ type: 'model_call_started', system: 'Be brief.', messages, ...scope });
  const shown = bounded.type === 'model_call_started' ? bounded.messages : [];
  expect(shown.at(-1)).toEqual(messages.at(-1));
  expect(shown[0]).toEqual({ role: 'system', content: `[${200 - (shown.length - 1)} earlier messages are not shown]` });
  expect(JSON.stringify(shown).length).toBeLessThan(150_000);
});

test('logging a request of 100,000 messages does not block the event loop', async () => {
  const messages = Array.from({ length: 100_000 }, (): Message => ({ role: 'user', content: 'eyJ-'.repeat(10) }));
  const event = { type: 'model_call_started', system: 'eyJ-'.repeat(250_000), messages, ...scope } as const;
  const redact = createRedaction([]);
  expect(await holdsShortly(() => redact(JSON.stringify(describeContentLine(event))))).toMatchObject({ isShort: true });
  expect(await holdsShortly(() => describeForSpan(event, redact))).toMatchObject({ isShort: true });
});
