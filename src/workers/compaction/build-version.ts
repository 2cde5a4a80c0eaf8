import type { SettledContext } from '../../domain/compaction/settle.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { Weight } from '../../domain/message.ts';
import type { Summary, Version } from '../../domain/version.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

export interface VersionInput {
  /** the last seq that it describes */
  readonly head: number;
  readonly settled: SettledContext;
  readonly reasons: readonly Reason[];
  readonly live: Version;
  /** the summaries that it uses, by key */
  readonly summaries: ReadonlyMap<string, Summary>;
  readonly hashes: PreparedAgent['hashes'];
  /** the log's total up to head */
  readonly baseTotal: Weight;
  /** bytes of system and tools */
  readonly overheadBytes: number;
  /** from the request of the pass to now */
  readonly durationMs: number;
  readonly now: number;
}

/** The record of a version that a pass makes over `live`. */
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
    baseTotal: parts.baseTotal,
    policyHash: hashes.policy,
    systemHash: hashes.system,
    toolsHash: hashes.tools,
    pinsHash: hashes.pins,
    measuredAt: { head, tokens: settled.tokensAfter, bytes: settled.weight.bytes + parts.overheadBytes },
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
