import { readEnvironment } from '../../config.ts';
import { runDoctorChecks } from '../../health/doctor.ts';
import { type Finding, worstState } from '../../health/finding.ts';
import { explainError } from '../explain-outage.ts';
import { type Output, writeJson } from '../output.ts';

export interface DoctorCommandOptions {
  readonly redis?: string;
  readonly providers?: boolean;
  readonly json?: boolean;
}

/** Says how the machine, its Redis and its settings are. @returns 1 where something is wrong; a warning is no failure */
export async function runDoctor(
  { redis, providers = false, json }: DoctorCommandOptions,
  output: Output,
): Promise<number> {
  const source = readEnvironment();
  const checks = await runDoctorChecks({ source, redisUrl: redis, asksProviders: providers, explain: explainError });
  const state = worstState(checks);
  if (json) writeJson(output, { state, checks });
  else {
    const width = Math.max(...checks.map(({ name }) => name.length));
    for (const check of checks) writeFinding(output, check, width);
  }
  return state === 'wrong' ? 1 : 0;
}

function writeFinding(output: Output, { name, state, what, remedy }: Finding, width: number): void {
  output.text(state.padEnd('warning'.length), state);
  output.line(`  ${name.padEnd(width)}  ${what}`);
  if (remedy !== undefined) output.line(`${' '.repeat('warning'.length)}  ${' '.repeat(width)}  → ${remedy}`);
}
