import { exactNumber, shortDuration, shortTokens } from '../parts/figures.tsx';
import type { Version } from '../shell/answers.ts';

/** Words for what made a version, e.g. `token threshold`. */
function describeCause({ cause, reasons }: Pick<Version, 'cause' | 'reasons'>): string {
  const words = reasons.map((reason) => reason.replaceAll('_', ' '));
  if (cause === 'pass' && words.length > 0) return words.join(', ');
  return cause === 'pass' ? 'compaction' : cause;
}

/** The line of a version in the timeline: `v12 · 143 messages → 9.3k · token threshold · 41 ms`. */
export function describeVersion(version: Version): string {
  const { number, archived, tokensBefore, tokensAfter, durationMs } = version;
  const left =
    archived > 0 ? `${exactNumber(archived)} ${archived === 1 ? 'message' : 'messages'}` : shortTokens(tokensBefore);
  const parts = [`v${number}`, `${left} → ${shortTokens(tokensAfter)}`, describeCause(version)];
  if (version.cause === 'pass') parts.push(shortDuration(durationMs));
  return parts.join(' · ');
}
