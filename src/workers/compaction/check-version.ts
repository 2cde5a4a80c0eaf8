import { requestTokens } from '../../domain/compaction/budget.ts';
import type { SettledContext } from '../../domain/compaction/settle.ts';
import { buildInSlices, type ContextSource, messagesOf } from '../../domain/context.ts';
import type { Message } from '../../domain/message.ts';
import { WIRE_FORMATS } from '../../domain/raw-items.ts';
import { upperBoundTokens } from '../../domain/size.ts';
import type { Sliced } from '../../domain/sliced.ts';
import type { Summary } from '../../domain/version.ts';
import { wireFormats } from '../../wire/formats.ts';
import type { RuleContext } from '../../wire/rules/rule.ts';
import { checkOpenRound, checkOrder, checkPinned, checkPins, checkThinking } from '../../wire/rules/version-checks.ts';
import type { Violation } from '../../wire/wire-request.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** Stands for the next user's message. Between two turns a context is not a request without one. */
const PROBE: Message = { role: 'user', content: 'probe' };

export type CheckedAgent = Pick<PreparedAgent, 'agent' | 'policy' | 'system' | 'tools' | 'limits' | 'overhead'>;

/**
 * Rules that a settled version breaks. Open rounds and pins must be unchanged (X12, X13). A request over the version, with one
 * more user message, must keep the rules of form, order (X10), thinking (A8), pins (X13) and size (X9). It is rendered in the
 * format of the agent's model. A model without a format is checked in every format, without limits of providers.
 * @param summaries texts of the new summaries, by key
 */
export function* checkVersion(
  prepared: CheckedAgent,
  source: ContextSource,
  settled: Pick<SettledContext, 'segments' | 'weight'>,
  summaries: ReadonlyMap<string, Summary>,
): Sliced<Violation[]> {
  const { agent, policy, system, tools } = prepared;
  const { profile } = agent.model;
  const number = source.version.number + 1;
  const before = yield* readMessages(source);
  const after = yield* readMessages({
    ...source,
    version: { ...source.version, number, base: source.head, segments: [...settled.segments] },
    summaries: new Map([...source.summaries, ...summaries]),
  });
  const request = {
    model: profile.id,
    system,
    tools,
    messages: [...after, PROBE],
    version: number,
    maxOutputTokens: profile.outputCapTokens,
  };
  const context = contextOf(prepared, settled);
  const formats = profile.format === undefined ? WIRE_FORMATS : [profile.format];
  const violations = [...(yield* checkOpenRound(before, after)), ...(yield* checkPinned(before, after))];
  for (const format of formats) {
    const { renderInSlices, validateInSlices } = wireFormats[format];
    const rendered = yield* renderInSlices(request, profile.renderOptions);
    violations.push(...(yield* validateInSlices(rendered.body, context, profile.renderOptions)));
    violations.push(...(yield* checkOrder(request, rendered)));
    violations.push(...(yield* checkThinking(request, rendered)));
    violations.push(...(yield* checkPins(request, rendered, policy.pins)));
  }
  return violations;
}

function* readMessages(source: ContextSource): Sliced<Message[]> {
  return messagesOf(yield* buildInSlices(source));
}

/** Checks X9 by the upper bound, as the sender of a request does. */
function contextOf({ agent, limits, overhead }: CheckedAgent, { weight }: Pick<SettledContext, 'weight'>): RuleContext {
  const { format, maxRequestBytes } = agent.model.profile;
  const tokens = upperBoundTokens(requestTokens({ overhead }, weight.tokens), limits.upperBoundFactor);
  return {
    isProbed: true,
    isUncapped: format === undefined,
    tokens,
    ...(limits.usable === undefined ? {} : { usableTokens: limits.usable }),
    ...(maxRequestBytes === undefined ? {} : { maxBytes: maxRequestBytes }),
  };
}
