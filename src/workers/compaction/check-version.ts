import { requestTokens } from '../../domain/compaction/budget.ts';
import type { SettledContext } from '../../domain/compaction/settle.ts';
import { buildInSlices, type ContextSource, messagesOf } from '../../domain/context.ts';
import type { Message } from '../../domain/message.ts';
import { WIRE_FORMATS } from '../../domain/raw-items.ts';
import { upperBoundTokens } from '../../domain/size.ts';
import type { Sliced } from '../../domain/sliced.ts';
import type { Summary } from '../../domain/version.ts';
import { wireFormats } from '../../wire/formats.ts';
import { checkOpenRound } from '../../wire/rules/open-round.ts';
import { checkOrder } from '../../wire/rules/order.ts';
import { checkPinned, checkPins } from '../../wire/rules/pins.ts';
import type { RuleContext } from '../../wire/rules/rule.ts';
import { checkThinking } from '../../wire/rules/thinking.ts';
import type { Violation } from '../../wire/wire-request.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** What the next user will say, as far as a form goes: a context between two turns is no request without it. */
const PROBE: Message = { role: 'user', content: 'probe' };

export type CheckedAgent = Pick<PreparedAgent, 'agent' | 'policy' | 'system' | 'tools' | 'limits' | 'overhead'>;

/**
 * The rules that a settled version breaks: an open round or a pin that is not as it was (X12, X13), and what a request over it
 * would, were it sent with one more user message: of form, order (X10), thinking (A8), pins (X13) and size (X9). In the format of the agent's model, as its
 * adapter renders; of a model without one, in every format, and under nobody's caps.
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

/** X9 by the upper bound, as the sender asks: what a version would have refused is not worth its commit. */
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
