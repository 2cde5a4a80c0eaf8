import type { Proposal } from '../domain/proposal.ts';
import type { Version } from '../domain/version.ts';
import { encodePairs } from './script.ts';

/** A version as `lua/shared/put-version.lua` takes it. @param keepVersions how many are kept besides restore points */
export function versionArgs(version: Version, keepVersions: number): (string | number)[] {
  const { number, weight, base, baseTotal } = version;
  return [
    number,
    JSON.stringify(version),
    weight.tokens,
    weight.bytes,
    base,
    baseTotal.tokens,
    baseTotal.bytes,
    keepVersions,
    ...encodePairs(Object.entries(versionEvent(version))),
  ];
}

/** Keys of the summaries that a version shows, in their order. */
export function shownKeys({ segments }: Pick<Version, 'segments'>): string[] {
  return segments.flatMap((segment) => (segment.kind === 'summary' ? [segment.text] : []));
}

/** The same as arguments, their count before them. */
export function shownTexts(version: Version): (string | number)[] {
  const keys = shownKeys(version);
  return [keys.length, ...keys];
}

/** Fields of the event that tells of a version. */
export function versionEvent(version: Version): Readonly<Record<string, string>> {
  const { number, cause, reasons, strategy, archived, tokensBefore, tokensAfter, durationMs, model } = version;
  return {
    version: String(number),
    cause,
    reasons: reasons.join(','),
    strategy,
    archived: String(archived),
    before: String(tokensBefore),
    after: String(tokensAfter),
    durationMs: String(durationMs),
    model: model ?? '',
  };
}

/** Fields of the event that tells of a proposal. */
export function proposalEvent(passId: string, { id, version }: Proposal): Readonly<Record<string, string>> {
  const { reasons, strategy, archived, tokensBefore, tokensAfter } = version;
  return {
    passId,
    proposal: id,
    reasons: reasons.join(','),
    strategy,
    archived: String(archived),
    before: String(tokensBefore),
    after: String(tokensAfter),
  };
}
