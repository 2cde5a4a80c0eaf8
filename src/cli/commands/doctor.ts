import { readEnvironment } from '../../config.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { runDoctorChecks } from '../../health/doctor.ts';
import { type Finding, worstState } from '../../health/finding.ts';
import { inspectQuarantine, type QuarantineAccess } from '../../health/inspect-quarantine.ts';
import { type Output, writeJson } from '../output.ts';
import { COMMAND_WAIT_MS, explainError, waitForRedis } from '../redis-outage.ts';

export interface DoctorCommandOptions {
  readonly redis?: string;
  readonly providers?: boolean;
  readonly json?: boolean;
}

/** Prints the checks of machine, Redis and settings. @returns the exit code: 1 if a check failed, 0 with warnings only */
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

interface QuarantineOptions {
  readonly json?: boolean;
}

/** Lists the records in quarantine. */
export async function showQuarantined({ json }: QuarantineOptions, output: Output): Promise<number> {
  const records = await inspectQuarantine(
    (inspection, shards) => inspection.listQuarantined(shards),
    accessFor(output),
  );
  for (const record of records) {
    if (json) writeJson(output, record);
    else {
      const at = record.at === undefined ? 'at an unknown time' : new Date(record.at).toISOString();
      output.line(`shard ${record.shard}  ${JSON.stringify(record.name)}  ${at}  ${record.why}`);
    }
  }
  if (records.length === 0 && !json) output.note('no records in quarantine');
  return 0;
}

/** Puts a record back or deletes it. @throws invalid_input, not_found */
export async function releaseRecord(
  given: { readonly shard: string; readonly name: string; readonly isRestored: boolean },
  output: Output,
): Promise<number> {
  const { name, isRestored } = given;
  const shard = Number(given.shard);
  const isReleased = await inspectQuarantine((inspection, shards) => {
    if (!(Number.isInteger(shard) && shard >= 0 && shard < shards)) {
      const why = `shard: must be a number from 0 to ${shards - 1}, got '${given.shard}'`;
      throw new TurnfoldError('invalid_input', why, { field: 'shard' });
    }
    return inspection.releaseQuarantined(shards, { shard, name, isRestored });
  }, accessFor(output));
  if (!isReleased) {
    const why = `name: shard ${shard} has no record ${JSON.stringify(name)} in quarantine`;
    throw new TurnfoldError('not_found', why, { field: 'name' });
  }
  output.line(isRestored ? 'put back for the next sweep' : 'deleted');
  return 0;
}

function accessFor(output: Output): QuarantineAccess {
  return {
    explain: explainError,
    wait: (location, open) => waitForRedis({ location, waitMs: COMMAND_WAIT_MS, output }, open),
  };
}
