import { expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { WireRequest } from '../../src/wire/wire-request.ts';
import { calls, result, user } from './messages.ts';
import {
  renderAnthropic,
  renderChat,
  renderResponses,
  validateAnthropic,
  validateChat,
  validateResponses,
} from './synchronous-formats.ts';

const stopped = (content: string): Message => ({ role: 'assistant', content, stopped: true });

/** A turn that was stopped behind a tool round, one that was stopped at once, and one whose text is a blank for providers. */
const messages = [
  user('Look.'),
  calls('a'),
  result('a'),
  stopped('I found '),
  user('Stop. Look there.'),
  stopped('There '),
  user('And now?'),
  stopped('\u00a0'),
  user('Go on.'),
];
const request: WireRequest = {
  model: 'model-1',
  maxOutputTokens: 1_000,
  system: 'You look.',
  tools: [{ name: 'read', description: 'reads', parameters: { type: 'object' } }],
  messages,
};

test('each format sends a stopped assistant message as plain text if it stands between two user messages', () => {
  const bodies = [
    { body: renderAnthropic(request).body, validate: validateAnthropic },
    { body: renderChat(request).body, validate: validateChat },
    { body: renderResponses(request).body, validate: validateResponses },
  ];
  for (const { body, validate } of bodies) {
    expect(validate(body)).toEqual([]);
    const written = JSON.stringify(body);
    expect(written).not.toContain('stopped');
    for (const text of ['I found', 'Stop. Look there.', 'There', 'And now?']) expect(written).toContain(text);
    expect(written.indexOf('I found')).toBeLessThan(written.indexOf('Stop. Look there.'));
  }
});
