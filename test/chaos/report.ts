import type { Finding, Stored } from './checks.ts';
import type { FaultCounts } from './fault-injector.ts';
import type { Recoveries } from './worker-reports.ts';

type Counts = Readonly<Record<string, number>>;

export interface ChaosReport {
  readonly seed: number;
  readonly seconds: number;
  /** Turns by state. */
  readonly turns: Counts;
  /** Failed turns by code. */
  readonly failures: Counts;
  readonly conversations: number;
  /** Versions by the strategy of their pass, or by cause. */
  readonly versions: Counts;
  /** Passes by outcome, as reported by workers. A killed worker may not have reported its last one. */
  readonly passes: Counts;
  readonly hardPasses: number;
  readonly faults: FaultCounts;
  readonly provider: { readonly faults: number; readonly refusals: number };
  readonly summaries: { readonly paid: number; readonly paidAgain: number };
  readonly recoveries: Recoveries;
  readonly notices: Recoveries;
  readonly mistakenNotices: number;
  /** Milliseconds from the last fault until no work was left. */
  readonly quietMs: number;
  readonly findings: readonly Finding[];
}

const MAX_SHOWN = 20;

export function describeReport(report: ChaosReport): string {
  const {
    turns,
    failures,
    versions,
    passes,
    faults,
    provider,
    summaries,
    recoveries,
    notices,
    mistakenNotices,
    findings,
  } = report;
  const list = (counts: Counts): string =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ');
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const lines = [
    `seed ${report.seed}, ${report.seconds} s, no work left ${seconds(report.quietMs)} after the last fault`,
    `turns: ${list(turns)}, in ${report.conversations} conversations. Failed: ${list(failures) || 'none'}`,
    `passes: ${list(passes)}, ${report.hardPasses} of them hard`,
    `versions: ${list(versions)}. Summaries: ${summaries.paid}, ${summaries.paidAgain} paid for again`,
    `faults: ${list({ ...faults })}. Provider: ${list(provider)}`,
    `from a kill to its notice: p50 ${seconds(notices.p50)}, p99 ${seconds(notices.p99)}, max ${seconds(notices.max)} (${notices.count} of ${faults.workerKills} workers). Living workers taken for dead: ${mistakenNotices}`,
    `from a kill to the next claim: p50 ${seconds(recoveries.p50)}, p99 ${seconds(recoveries.p99)}, max ${seconds(recoveries.max)} (${recoveries.count} turns)`,
    findings.length === 0 ? 'nothing found' : `${findings.length} findings`,
    ...findings.slice(0, MAX_SHOWN).map(({ rule, conversation, detail }) => `  ${rule}: ${conversation} ${detail}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** Counts what Redis holds at the end. */
export function countStored({
  conversations,
}: Stored): Pick<ChaosReport, 'turns' | 'failures' | 'conversations' | 'versions'> {
  const turns = conversations.flatMap((conversation) => [...conversation.turns.values()]);
  const versions = conversations.flatMap((conversation) => conversation.versions);
  return {
    turns: tally(turns.map(({ state = 'gone' }) => state)),
    failures: tally(turns.flatMap(({ failure }) => (failure ? (JSON.parse(failure) as { code: string }).code : []))),
    conversations: conversations.length,
    versions: tally(versions.map(({ cause, strategy }) => (cause === 'pass' ? strategy : cause))),
  };
}

function tally(names: readonly string[]): Counts {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
