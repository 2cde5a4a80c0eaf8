/**
 * Sends rendered requests to the strict provider, a test server that was written from the same rules but independently
 * of the renderers. The server must accept every request, and no request may lose content.
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
import { expectedContents, findLostText, readContents } from './contents.ts';
import { histories, isOpenAtEndOnly } from './histories.ts';
import { ROUTES, type Route } from './routes.ts';
import { sampleConversations } from './sampled-traces.ts';
import { hasTraces } from './traces.ts';

const RUNS = { numRuns: countRuns(300) };
/** Fewer runs for the tests over HTTP. Each history gets its own server, because item ids repeat between histories. */
const SENT_RUNS = { numRuns: countRuns(30) };
const PROBE: Message = { role: 'user', content: 'Go on.' };
/** Settings of the strict provider: it accepts signatures that it did not issue, and requests of any size. */
const LENIENCE = { signatures: 'unchecked', windowTokens: 4_000_000 } as const;

/** Returns the strict provider's refusal of a request, without HTTP. */
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
    takesLaterSystem: false,
    needsReasoning: false,
    countTokens: estimateTokens,
    ...route.strict,
    issued,
    betas: new Set(),
    bytes: Buffer.byteLength(sent),
  });
}

/** Returns the items that the server would have issued for each answer of a Responses history. */
function itemsOf(messages: readonly Message[]): Record<string, unknown>[][] {
  return messages.flatMap((message) => {
    const raw = readRawItems(message);
    return raw?.format === 'openai-responses' ? [raw.items] : [];
  });
}

describe.each(ROUTES)('$name', (route) => {
  const { validate } = wireFormats[route.format];
  const hasStrictTemplate = route.strict.hasStrictTemplate === true;

  /** Expects that the request body contains every text, picture, call and result of the messages. */
  function expectAllContents(request: WireRequest): void {
    const { texts, ...sent } = readContents(route.render(request));
    const { texts: expected, ...others } = expectedContents(request, route.format);
    expect(findLostText(texts, expected)).toBeUndefined();
    expect(sent).toEqual(others);
  }

  test(`the strict provider and the validator accept the ${route.name} request of every random history`, () => {
    fc.assert(
      fc.property(histories(route.format), (request) => {
        expect(refuse(route, request)).toBeUndefined();
        expect(validate(route.render(request), { hasStrictTemplate }, route.options)).toEqual([]);
      }),
      RUNS,
    );
  });

  test.each([true, false])(
    `a ${route.name} request has all contents of a random history, in order (the history ends where a model may answer: %s)`,
    (isSendable) => {
      fc.assert(fc.property(histories(route.format, { isSendable }), expectAllContents), RUNS);
    },
  );

  test(`a ${route.name} request with an added user message lacks only the results of the unfinished tool round`, () => {
    const contexts = histories(route.format, { isSendable: false }).filter(({ messages }) => isOpenAtEndOnly(messages));
    let open = 0;
    fc.assert(
      fc.property(contexts, ({ messages, ...context }) => {
        const request = { ...context, messages: [...messages, PROBE] };
        const hasOpenRound = groupMessages(messages).some(({ isOpen }) => isOpen);
        if (hasOpenRound) open += 1;
        expect(refuse(route, request)?.rule).toBe(hasOpenRound ? route.openRoundRule : undefined);
        expect(validate(route.render(request), { isProbed: true, hasStrictTemplate }, route.options)).toEqual([]);
      }),
      RUNS,
    );
    expect(open).toBeGreaterThan(RUNS.numRuns / 20);
  });

  test(`the strict provider accepts random histories that the SDK for ${route.name} sends over HTTP`, async () => {
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
  });

  test.skipIf(!hasTraces)(
    `the strict provider accepts the ${route.name} requests of recorded conversations, with all their contents (skipped without ../shared/traces)`,
    () => {
      for (const { id, messages } of sampleConversations()) {
        const request = {
          model: 'm',
          system: '',
          tools: [],
          messages: [...messages, PROBE],
          maxOutputTokens: 4_096,
        };
        expect([id, refuse(route, request)]).toEqual([id, undefined]);
        expectAllContents(request);
      }
    },
  );
});
