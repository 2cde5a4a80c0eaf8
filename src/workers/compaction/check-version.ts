import type { SettledContext } from '../../domain/compaction/settle.ts';
import { buildContext, type ContextSource } from '../../domain/context.ts';
import type { Message } from '../../domain/message.ts';
import { WIRE_FORMATS } from '../../domain/raw-items.ts';
import type { Checkpoint } from '../../domain/version.ts';
import { wireFormats } from '../../wire/formats.ts';
import type { Violation } from '../../wire/wire-request.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** What the next user will say, as far as a form goes: a context between two turns is no request without it. */
const PROBE: Message = { role: 'user', content: 'probe' };

/**
 * The rules that a request over a settled version would break, were it sent with one more user message. In the format of the
 * agent's model; of a model without one, in every format.
 * @param checkpoints texts of the new checkpoints, by key
 */
export function checkVersion(
  { agent, tools }: Pick<PreparedAgent, 'agent' | 'tools'>,
  source: ContextSource,
  settled: SettledContext,
  checkpoints: ReadonlyMap<string, Checkpoint>,
): Violation[] {
  const { profile } = agent.model;
  const number = source.version.number + 1;
  const { items } = buildContext({
    ...source,
    version: { ...source.version, number, base: source.head, segments: [...settled.segments] },
    checkpoints: new Map([...source.checkpoints, ...checkpoints]),
  });
  const request = {
    model: profile.id,
    system: agent.system,
    tools,
    messages: [...items.map(({ message }) => message), PROBE],
    version: number,
    maxOutputTokens: profile.outputCapTokens,
  };
  const formats = profile.format === undefined ? WIRE_FORMATS : [profile.format];
  return formats.flatMap((format) => {
    const { render, validate } = wireFormats[format];
    return validate(render(request).body, { isProbed: true });
  });
}
