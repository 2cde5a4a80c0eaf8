/** Sends random and recorded histories with the AI SDK's packages to the strict provider, which must accept all. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { startProvider } from '../../provider/provider.ts';
import { countRuns } from '../../setup/count-runs.ts';
import { histories } from '../../wire/histories.ts';
import { sampleConversations } from '../../wire/sampled-traces.ts';
import { hasTraces } from '../../wire/traces.ts';
import { ask, PROFILE } from '../fixture.ts';
import { AI_SDK_SUBJECTS } from './subjects.ts';

const RUNS = { numRuns: countRuns(25) };
const PROBE: Message = { role: 'user', content: 'Go on.' };
const profile = { ...PROFILE, windowTokens: 4_000_000 };
const lenient = { signatures: 'unchecked', windowTokens: 4_000_000 } as const;

describe.each(AI_SDK_SUBJECTS)('$name', ({ name, format, connect }) => {
  test(`the strict provider accepts every random history that ${name} sends`, async () => {
    await using provider = await startProvider({ answers: () => ({ text: 'Yes.' }), strict: lenient });
    const model = connect(provider, { profile });
    await fc.assert(
      fc.asyncProperty(histories(format === 'gemini' ? 'openai-chat' : format), async ({ system, tools, messages }) => {
        expect(await model.generate(ask(messages, { system, tools }))).toMatchObject({ content: 'Yes.' });
      }),
      RUNS,
    );
  });

  test.skipIf(!hasTraces)(
    `the strict provider accepts the recorded conversations that ${name} sends (skipped without ../shared/traces)`,
    async () => {
      await using provider = await startProvider({ answers: () => ({ text: 'Yes.' }), strict: lenient });
      const model = connect(provider, { profile });
      for (const { id, messages } of sampleConversations()) {
        const answer = await model.generate(ask([...messages, PROBE], { system: '', tools: [] }));
        expect([id, answer.content]).toEqual([id, 'Yes.']);
      }
    },
  );
});
