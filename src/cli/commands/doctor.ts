import { fieldError } from '../../domain/errors.ts';
import { readEnvironment } from '../../host/config.ts';
import { runDoctorChecks } from '../../host/health/doctor.ts';
import { type Finding, worstState } from '../../host/health/finding.ts';
import { inspectQuarantine, type QuarantineAccess } from '../../host/health/inspect-database.ts';
import { listProfiles } from '../../host/retirements.ts';
import { loadAgents } from '../load-agents.ts';
import { type Output, writeJson, writeResult } from '../output.ts';
import { COMMAND_WAIT_MS, explainOutage, waitForRedis } from '../redis-outage.ts';
import type { CommandContext, JsonOption } from '../run-command.ts';

interface DoctorCommandOptions extends JsonOption {
  readonly redis?: string;
  readonly providers?: boolean;
  readonly agents?: string;
}

/** @returns the exit code: 1 if a check failed, 0 if there are only warnings */
export async function runDoctor(
  { output }: CommandContext,
  { redis, providers = false, agents, json }: DoctorCommandOptions,
): Promise<number> {
  const source = readEnvironment();
  const loaded = agents === undefined ? [] : await loadAgents(agents, output);
  const checks = await runDoctorChecks({
    source,
    redisUrl: redis,
    asksProviders: providers,
    models: listProfiles({ agents: loaded }),
    explain: explainOutage,
  });
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

export async function showQuarantined({ output }: CommandContext, { json }: JsonOption): Promise<number> {
  const records = await inspectQuarantine(
    (inspection, shards) => inspection.listQuarantined(shards),
    accessFor(output),
  );
  for (const record of records) {
    const at = record.at === undefined ? 'at an unknown time' : new Date(record.at).toISOString();
    const line = `shard ${record.shard}  ${JSON.stringify(record.name)}  ${at}  ${record.why}`;
    writeResult(output, json, record, line);
  }
  if (records.length === 0 && !json) output.note('no records in quarantine');
  return 0;
}

export function restoreRecord(context: CommandContext, shard: string, name: string): Promise<number> {
  return releaseRecord(context, shard, { name, isRestored: true });
}

export function dropRecord(context: CommandContext, shard: string, name: string): Promise<number> {
  return releaseRecord(context, shard, { name, isRestored: false });
}

/** @throws invalid_input for a wrong shard number, not_found if the record is not in quarantine */
async function releaseRecord(
  { output }: CommandContext,
  typedShard: string,
  release: { readonly name: string; readonly isRestored: boolean },
): Promise<number> {
  const shard = Number(typedShard);
  const isReleased = await inspectQuarantine((inspection, shards) => {
    if (!(Number.isInteger(shard) && shard >= 0 && shard < shards)) {
      const why = `must be a number from 0 to ${shards - 1}, got '${typedShard}'`;
      throw fieldError('invalid_input', 'shard', why);
    }
    return inspection.releaseQuarantined(shards, { shard, ...release });
  }, accessFor(output));
  if (!isReleased) {
    const record = `shard ${shard} has no record ${JSON.stringify(release.name)} in quarantine`;
    throw fieldError('not_found', 'name', `${record}. turnfold quarantine lists the records`);
  }
  output.line(release.isRestored ? 'put back for the next sweep' : 'deleted');
  return 0;
}

function accessFor(output: Output): QuarantineAccess {
  return {
    explain: explainOutage,
    wait: (location, open) => waitForRedis({ location, waitMs: COMMAND_WAIT_MS, output }, open),
  };
}
