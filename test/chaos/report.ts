import type { ChaosReport } from './run.ts';

const SHOWN = 20;

/** A run for people to read. */
export function describeReport(report: ChaosReport): string {
  const { turns, failures, versions, passes, harm, provider, summaries, recoveries, findings } = report;
  const list = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ');
  const failed = list(failures);
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const lines = [
    `seed ${report.seed}, ${report.seconds} s; quiet ${seconds(report.quietMs)} after the last harm`,
    `turns: ${list(turns)}, in ${report.conversations} conversations${failed === '' ? '' : `; failed: ${failed}`}`,
    `passes: ${list(passes)}; ${report.hardPasses} of them hard`,
    `versions: ${list(versions)}; summaries: ${summaries.made}, ${summaries.again} paid for again`,
    `harm: ${list({ ...harm })}; provider: ${list({ ...provider })}`,
    `a killed worker’s turn goes on: p50 ${seconds(recoveries.p50)}, p99 ${seconds(recoveries.p99)}, max ${seconds(recoveries.max)} (of ${recoveries.count})`,
    findings.length === 0 ? 'found: nothing' : `found: ${findings.length}`,
    ...findings.slice(0, SHOWN).map(({ rule, conversation, detail }) => `  ${rule}: ${conversation} ${detail}`),
  ];
  return `${lines.join('\n')}\n`;
}
