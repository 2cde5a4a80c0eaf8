import { backOffAppends, nextBackoff } from '../../compaction/backoff.ts';
import type { SettledContext } from '../../compaction/settle.ts';
import type { Backoff } from '../../domain/conversation.ts';
import type { Weight } from '../../domain/message.ts';
import type { PassOutcome, Reason } from '../../domain/pass.ts';
import { contextSize, NO_OVERHEAD, type SizeRecord } from '../../domain/size.ts';
import { type Summary, type Version, weighVersion } from '../../domain/version.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import type { PassSnapshot } from './pass-snapshot.ts';

interface VersionInput {
  /** Seq of the last message that the version covers. */
  readonly head: number;
  readonly settled: SettledContext;
  readonly reasons: readonly Reason[];
  readonly live: Version;
  readonly summaries: ReadonlyMap<string, Summary>;
  readonly hashes: PreparedAgent['hashes'];
  /** Size of the log up to and including `head`. */
  readonly baseTotal: Weight;
  /** Bytes of system prompt and tool schemas. */
  readonly overheadBytes: number;
  /** ms since the pass was requested. */
  readonly durationMs: number;
  readonly now: number;
}

export function buildVersion(parts: VersionInput): Version {
  const { head, settled, live, hashes, now } = parts;
  const models = [...new Set([...parts.summaries.values()].map((summary) => summary.model))];
  return {
    number: live.number + 1,
    parent: live.number,
    cause: 'pass',
    reasons: [...parts.reasons],
    strategy: settled.strategy,
    base: head,
    segments: [...settled.segments],
    weight: settled.weight,
    ...(settled.placeholder && { placeholder: settled.placeholder }),
    baseTotal: parts.baseTotal,
    policyHash: hashes.policy,
    systemHash: hashes.system,
    toolsHash: hashes.tools,
    pinsHash: hashes.pins,
    measuredAt: { head, tokens: settled.tokensAfter, bytes: weighVersion(settled).bytes + parts.overheadBytes },
    tokensBefore: settled.tokensBefore,
    tokensAfter: settled.tokensAfter,
    archived: settled.archived,
    explained: [...settled.explained],
    floorRelaxed: settled.isFloorRelaxed,
    at: now,
    durationMs: parts.durationMs,
    model: models.length === 0 ? null : models.join(', '),
  };
}

export function backoffAfter(
  { state, prepared }: Pick<PassSnapshot, 'state' | 'prepared'>,
  outcome: PassOutcome,
  version?: Version,
): Backoff {
  const { policy, limits, overhead } = prepared;
  // No provider has counted a request with the new version yet.
  const size = version === undefined ? state.size : sizeOf(version);
  const { tokens } = contextSize(size, overhead);
  const { tokens: messageTokens } = contextSize(size, NO_OVERHEAD);
  const { calibration } = overhead;
  const { hardTokens } = limits;
  const softTokens = Math.min(...[limits.tokenThreshold, limits.ratioTokens].filter((limit) => limit !== undefined));
  const next = nextBackoff(state.backoff, outcome, { tokens, stepTokens: policy.minSequenceTokens, softTokens });
  return backOffAppends(next, { tokens, messageTokens, calibration, hardTokens });
}

function sizeOf({ number, weight, baseTotal }: Version): SizeRecord {
  return { version: number, weight, baseTotal, headTotal: baseTotal };
}
