import type { Message } from '../../domain/message.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { describeOutcome, isReadOnly, type MadeCall, nameCall, writeOutcome } from '../progress/calls.ts';
import { foldLine } from '../structural/text.ts';
import { describeAttachments } from './pictures.ts';

const CALL_CHARS = 120;
const ATTACHMENT_CHARS = 100;

interface EffectsSource {
  readonly calls: readonly MadeCall[];
  /** Messages that hold the results of the calls. */
  readonly messages: readonly Message[];
}

/**
 * Code lists the calls: after a wrong list, the agent would repeat an action. Read-only calls that worked are left out
 * first.
 */
export function listEffects(counter: TokenCounter, { calls, messages }: EffectsSource, maxTokens: number): string[] {
  const newestFirst = calls.filter(({ isRepeated }) => !isRepeated).toReversed();
  const isMinor = ({ call, result }: MadeCall): boolean =>
    isReadOnly(call) && (result === undefined || !describeOutcome(messages[result] as Message).hasFailed);
  const minor = new Set(newestFirst.filter(isMinor));
  const ranked = [...newestFirst.filter((made) => !minor.has(made)), ...minor];
  const lines = new Map<MadeCall, string>();
  let left = maxTokens;
  for (const made of ranked) {
    const line = `- ${writeCall(made, messages)}`;
    left -= counter.countSync(line) + 1;
    if (left < 0) break;
    lines.set(made, line);
  }
  const shown = calls.flatMap((made) => lines.get(made) ?? []);
  const more = ranked.length - shown.length;
  return more === 0 || shown.length === 0 ? shown : [...shown, `- and ${more} more`];
}

function writeCall(made: MadeCall, messages: readonly Message[]): string {
  const { text } = nameCall(made.call, CALL_CHARS);
  const result = made.result === undefined ? undefined : messages[made.result];
  if (result === undefined) return `${text} ${writeOutcome(made, undefined)}`;
  const outcome = describeOutcome(result);
  const [attached = ''] = result.content.trim() === '' ? describeAttachments(result, undefined, made.call) : [];
  const said = attached === '' ? '' : `: ${foldLine(attached).slice(0, ATTACHMENT_CHARS)}`;
  return `${text} ${writeOutcome(made, { ...outcome, text: outcome.text + said })}`;
}
