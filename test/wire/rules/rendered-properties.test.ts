import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { adoptMessages } from '../../../src/domain/history.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';
import { WIRE_FORMATS, type WireFormat } from '../../../src/domain/raw-items.ts';
import { wireFormats } from '../../../src/wire/formats.ts';
import { checkOrder, checkThinking } from '../../../src/wire/rules/version-checks.ts';
import { countRuns } from '../../setup/count-runs.ts';
import { histories } from '../histories.ts';
import { sampleConversations } from '../sampled-traces.ts';
import { hasTraces } from '../traces.ts';
import { nameViolations } from './malformed-bodies.ts';
import { mutations, sitesOf } from './mutations.ts';

const RUNS = { numRuns: countRuns(300) };
/** Fewer runs, because each run applies many mutations. */
const MUTATED_RUNS = { numRuns: countRuns(100) };
const PROBE: Message = { role: 'user', content: 'Go on.' };

describe.each(WIRE_FORMATS)('%s', (format: WireFormat) => {
  const { render, validate } = wireFormats[format];
  /** Arguments are an object in this format and text in the others, or the reverse. */
  const mutationOfOthers =
    format === 'anthropic' ? 'the arguments of a call are cut off' : 'the arguments of a call are a list';

  test(`a ${format} request keeps the message order (wire rule X10), and no thinking from under other tools or system texts (wire rule A8)`, () => {
    fc.assert(
      fc.property(histories(format), (request) => {
        const rendered = render(request);
        expect(runToEnd(checkOrder(request, rendered))).toStrictEqual([]);
        expect(runToEnd(checkThinking(request, rendered))).toStrictEqual([]);
      }),
      RUNS,
    );
  });

  test.skipIf(!hasTraces)(
    `the ${format} request of a recorded conversation breaks no wire rule (skipped without ../shared/traces)`,
    () => {
      for (const { id, messages } of sampleConversations()) {
        const sent = [...adoptMessages(messages, 1).messages, PROBE];
        const request = { model: 'm', system: '', tools: [], messages: sent, maxOutputTokens: 4_096 };
        const rendered = render(request);
        expect([id, ...validate(rendered.body), ...runToEnd(checkOrder(request, rendered))]).toStrictEqual([id]);
      }
    },
  );

  test.each(mutations.filter(({ name }) => name !== mutationOfOthers))(
    `the ${format} validator reports wire rule $rule if $name`,
    ({ rule, isPlace, apply }) => {
      fc.assert(
        fc.property(histories(format), fc.nat(), (request, choice) => {
          const { body } = structuredClone(render(request));
          const sites = [...sitesOf(body)].filter(isPlace);
          const site = sites[choice % sites.length];
          const hasCalls = request.messages.some(({ toolCalls }) => toolCalls !== undefined);
          fc.pre(site !== undefined && (rule !== 'X6' || hasCalls));
          apply(site);
          expect(new Set(nameViolations(validate(body)).map((named) => named.split(' ')[0]))).toContain(rule);
        }),
        MUTATED_RUNS,
      );
    },
  );
});
