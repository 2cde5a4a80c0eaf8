import { TurnfoldError } from '../../domain/errors.ts';
import { inspectQuarantine, type QuarantineAccess } from '../../health/inspect-quarantine.ts';
import { explainError } from '../explain-outage.ts';
import { type Output, writeJson } from '../output.ts';
import { COMMAND_WAIT_MS, waitForRedis } from '../wait-for-redis.ts';

interface QuarantineOptions {
  readonly json?: boolean;
}

/** Lists the records that are set aside. */
export async function showQuarantined({ json }: QuarantineOptions, output: Output): Promise<number> {
  const records = await inspectQuarantine(
    (inspection, shards) => inspection.listQuarantined(shards),
    accessFor(output),
  );
  for (const record of records) {
    if (json) writeJson(output, record);
    else {
      const at = record.at === undefined ? 'at an unknown time' : new Date(record.at).toISOString();
      // A corrupt name may hold anything.
      output.line(`shard ${record.shard}  ${JSON.stringify(record.name)}  ${at}  ${record.why}`);
    }
  }
  if (records.length === 0 && !json) output.note('no record is set aside');
  return 0;
}

/** Puts a record back, or drops it. @throws invalid_input, not_found */
export async function releaseRecord(
  given: { readonly shard: string; readonly name: string; readonly isRestored: boolean },
  output: Output,
): Promise<number> {
  const { name, isRestored } = given;
  const shard = Number(given.shard);
  const isReleased = await inspectQuarantine((inspection, shards) => {
    if (!(Number.isInteger(shard) && shard >= 0 && shard < shards)) {
      const why = `shard: must be a number from 0 to ${shards - 1}; got '${given.shard}'`;
      throw new TurnfoldError('invalid_input', why, { field: 'shard' });
    }
    return inspection.releaseQuarantined(shards, { shard, name, isRestored });
  }, accessFor(output));
  if (!isReleased) {
    const why = `name: no record ${JSON.stringify(name)} is set aside in shard ${shard}`;
    throw new TurnfoldError('not_found', why, { field: 'name' });
  }
  output.line(isRestored ? 'put back: the next sweep looks at it' : 'dropped');
  return 0;
}

function accessFor(output: Output): QuarantineAccess {
  return {
    explain: explainError,
    wait: (location, open) => waitForRedis({ location, waitMs: COMMAND_WAIT_MS, output }, open),
  };
}
