import { requestTokens } from '../../compaction/budget.ts';
import { buildInSlices, contextMessages } from '../../compaction/context.ts';
import type { SettledContext } from '../../compaction/settle.ts';
import type { ContextSource } from '../../domain/context-source.ts';
import type { Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { WIRE_FORMATS } from '../../domain/raw-items.ts';
import { upperBoundTokens } from '../../domain/size.ts';
import { type Summary, weighVersion } from '../../domain/version.ts';
import { wireFormats } from '../../wire/formats.ts';
import type { RuleContext } from '../../wire/rules/rule.ts';
import { checkOpenRound, checkOrder, checkPinned, checkPins, checkThinking } from '../../wire/rules/version-checks.ts';
import type { Violation } from '../../wire/wire-request.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** Message that is appended for the check, because most providers require a user message at the end of a request. */
const PROBE: Message = { role: 'user', content: 'probe' };

export type CheckedAgent = Pick<PreparedAgent, 'agent' | 'policy' | 'system' | 'tools' | 'limits' | 'overhead'>;

/**
 * Returns the rules that a version would break. Open tool rounds and pinned messages must be unchanged (X12, X13). With
 * one more user message, the version must be a valid request: in form, order (X10), thinking (A8), pins (X13) and size
 * (X9). A model without a known format is checked in every format, without the limits of providers.
 * @param summaries texts of the new summaries, by summary key
 */
export function* checkVersion(
  prepared: CheckedAgent,
  source: ContextSource,
  settled: Pick<SettledContext, 'segments' | 'weight' | 'placeholder'>,
  summaries: ReadonlyMap<string, Summary>,
): Interruptible<Violation[]> {
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
    ...(profile.abilities?.inputs && { inputs: profile.abilities.inputs }),
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

function* readMessages(source: ContextSource): Interruptible<Message[]> {
  return contextMessages(yield* buildInSlices(source));
}

/** Counts the version by the upper bound of its tokens, as a turn does before it sends a request. */
function contextOf(
  { agent, limits, overhead }: CheckedAgent,
  settled: Pick<SettledContext, 'weight' | 'placeholder'>,
): RuleContext {
  const { format, maxRequestBytes } = agent.model.profile;
  const tokens = upperBoundTokens(requestTokens({ overhead }, weighVersion(settled).tokens), limits.upperBoundFactor);
  return {
    isProbed: true,
    isUncapped: format === undefined,
    tokens,
    ...(limits.usable === undefined ? {} : { usableTokens: limits.usable }),
    ...(maxRequestBytes === undefined ? {} : { maxBytes: maxRequestBytes }),
  };
}
