import { expect, test } from 'vitest';
import type { ContextSource } from '../../src/domain/context-source.ts';
import { resolveLimits } from '../../src/domain/limits.ts';
import { buildLog, type Message } from '../../src/domain/message.ts';
import { completePolicy } from '../../src/domain/policy.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { NO_OVERHEAD } from '../../src/domain/size.ts';
import { START_VERSION } from '../../src/domain/version.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { eventLoopShare } from '../../src/wire/tokens/event-loop-share.ts';
import type { Violation } from '../../src/wire/wire-request.ts';
import { type CheckedAgent, checkVersion } from '../../src/workers/compaction/check-version.ts';
import { holdsShortly } from '../setup/held-loop.ts';

const MESSAGES = 100_000;
/** Text of each message. All messages together have 100 MB as JSON. */
const CONTENT = 'content of the file '.repeat(50);
const PIN = 'Never delete a file.';

function longHistory(): Message[] {
  return Array.from({ length: MESSAGES / 4 }, (_, turn): Message[] => {
    const id = `c${4 * turn + 2}_0`;
    return [
      { role: 'user', content: CONTENT, ...(turn % 10 === 0 && { pinned: true }) },
      { role: 'assistant', content: '', toolCalls: [{ id, name: 'read', arguments: '{"path":"src/a.ts"}' }] },
      { role: 'tool', content: CONTENT, toolCallId: id },
      { role: 'assistant', content: CONTENT },
    ];
  }).flat();
}

const entries = buildLog(longHistory().map((message) => ({ message, tokens: 50, bytes: 200 })));
const source: ContextSource = { version: START_VERSION, head: MESSAGES, entries, summaries: new Map() };
const weight = { tokens: 50 * MESSAGES, bytes: 200 * MESSAGES };
const settled = { segments: [{ kind: 'raw' as const, from: 1, to: MESSAGES, weight }], weight };

test.each(WIRE_FORMATS)(
  `checking a new version of ${MESSAGES} messages as %s before its commit blocks the event loop for less than the limit`,
  async (format) => {
    const policy = completePolicy({ pins: [PIN] });
    const model = scriptedModel({ decide: () => ({ content: 'done' }) });
    const prepared: CheckedAgent = {
      agent: {
        name: 'a',
        system: '',
        tools: [],
        policy: {},
        model: { ...model, profile: { ...model.profile, format } },
      },
      policy,
      system: `Be brief.\n\n${PIN}`,
      tools: [],
      limits: resolveLimits(policy),
      overhead: NO_OVERHEAD,
    };
    let violations: readonly Violation[] = [];
    const held = await holdsShortly(async () => {
      violations = await eventLoopShare.run(checkVersion(prepared, source, settled, new Map()));
    });
    expect(held).toMatchObject({ isShort: true });
    // OpenAI's server accepts at most 2,048 messages in a chat request.
    expect(violations.map(({ rule }) => rule)).toEqual(format === 'openai-chat' ? ['X9'] : []);
  },
);
