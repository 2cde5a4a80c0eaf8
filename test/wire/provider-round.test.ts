/**
 * What is rendered, before the strict provider server: written from the same rules without a look at the renderers, it refuses
 * none of it.
 */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { groupMessages } from '../../src/domain/group.ts';
import type { Message } from '../../src/domain/message.ts';
import { readRawItems } from '../../src/domain/raw-items.ts';
import { wireFormats } from '../../src/wire/formats.ts';
import type { WireRequest } from '../../src/wire/wire-request.ts';
import { Issued } from '../provider/issued.ts';
import { estimateTokens, isObject } from '../provider/json.ts';
import { startProvider } from '../provider/provider.ts';
import type { Refusal } from '../provider/refusal.ts';
import { countRuns } from '../setup/count-runs.ts';
import { histories, isOpenAtEndOnly } from './histories.ts';
import { ROUTES, type Route } from './routes.ts';
import { hasTraces, readConversations } from './traces.ts';

const RUNS = { numRuns: countRuns(1_000) };
/** Over HTTP; each with a server of its own, since ids of items repeat from history to history. */
const SENT_RUNS = { numRuns: countRuns(60) };
const PROBE: Message = { role: 'user', content: 'Go on.' };
/** Nobody's server wrote the histories, and their size is not what is looked at. */
const LENIENCE = { signatures: 'unchecked', windowTokens: 4_000_000 } as const;

/** What the server says to a body, without the server. */
function refuse(route: Route, request: WireRequest): Refusal | undefined {
  const sent = JSON.stringify(route.render(request));
  const issued = new Issued();
  for (const items of itemsOf(request.messages)) issued.recordItems(items);
  const body: unknown = JSON.parse(sent);
  if (!isObject(body)) throw new Error('no body');
  return route.dialect.refuse(body, {
    ...LENIENCE,
    maxBytes: 32 * 1024 * 1024,
    hasStrictTemplate: false,
    needsReasoning: false,
    countTokens: estimateTokens,
    ...route.strict,
    issued,
    betas: new Set(),
    bytes: Buffer.byteLength(sent),
  });
}

/** What the server would have written: items of each answer of a Responses history. */
function itemsOf(messages: readonly Message[]): Record<string, unknown>[][] {
  return messages.flatMap((message) => {
    const raw = readRawItems(message);
    return raw?.format === 'openai-responses' ? [raw.items] : [];
  });
}

describe.each(ROUTES)('$name', (route) => {
  const { validate } = wireFormats[route.format];
  const hasStrictTemplate = route.strict.hasStrictTemplate === true;

  test('no random history is refused, and the validator has nothing against it', () => {
    fc.assert(
      fc.property(histories(route.format), (request) => {
        expect(refuse(route, request)).toBeUndefined();
        expect(validate(route.render(request), { hasStrictTemplate })).toEqual([]);
      }),
      RUNS,
    );
  });

  test('nor is one with a probe at its end; where its last round is open, for that alone', () => {
    const contexts = histories(route.format, { isSendable: false }).filter(({ messages }) => isOpenAtEndOnly(messages));
    let open = 0;
    fc.assert(
      fc.property(contexts, ({ messages, ...context }) => {
        const request = { ...context, messages: [...messages, PROBE] };
        const hasOpenRound = groupMessages(messages).some(({ isOpen }) => isOpen);
        if (hasOpenRound) open += 1;
        expect(refuse(route, request)?.rule).toBe(hasOpenRound ? route.openRoundRule : undefined);
        expect(validate(route.render(request), { isProbed: true, hasStrictTemplate })).toEqual([]);
      }),
      RUNS,
    );
    expect(open).toBeGreaterThan(RUNS.numRuns / 20);
  });

  test('nor over HTTP, from its own SDK', async () => {
    await fc.assert(
      fc.asyncProperty(histories(route.format), async (request) => {
        await using provider = await startProvider({
          answers: () => ({ text: 'Yes.' }),
          strict: { ...LENIENCE, ...route.strict },
        });
        for (const items of itemsOf(request.messages)) provider.remember(items);
        expect(await route.ask(provider, request)).toMatchObject({ content: 'Yes.' });
      }),
      SENT_RUNS,
    );
  }, 60_000);

  test.skipIf(!hasTraces)(
    'nor is a recorded conversation (skipped without ../shared/traces)',
    () => {
      for (const { id, messages } of readConversations()) {
        const request = {
          model: 'm',
          system: '',
          tools: [],
          messages: [...messages, PROBE],
          maxOutputTokens: 4_096,
        };
        expect([id, refuse(route, request)]).toEqual([id, undefined]);
      }
    },
    60_000,
  );
});
