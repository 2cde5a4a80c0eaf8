import { DEFAULT_REDIS_URL, readConfig, readEnvironment } from '../../config.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { type Inspection, openInspection } from '../../store/inspection/open-inspection.ts';
import { explainError } from '../explain-outage.ts';
import { type Output, writeJson } from '../output.ts';

interface QuarantineOptions {
  readonly json?: boolean;
}

/** Lists the records that are set aside. */
export async function showQuarantined({ json }: QuarantineOptions, output: Output): Promise<number> {
  const records = await inspect((inspection, shards) => inspection.listQuarantined(shards));
  for (const record of records) {
    if (json) writeJson(output, record);
    else {
      const at = record.at === undefined ? 'at an unknown time' : new Date(record.at).toISOString();
      // A name that nobody of us wrote may hold anything.
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
  const isReleased = await inspect((inspection, shards) => {
    if (!(Number.isInteger(shard) && shard >= 0 && shard < shards)) {
      const why = `shard: must be a number from 0 to ${shards - 1}; got '${given.shard}'`;
      throw new TurnfoldError('invalid_input', why, { field: 'shard' });
    }
    return inspection.releaseQuarantined(shards, { shard, name, isRestored });
  });
  if (!isReleased) {
    const why = `name: no record ${JSON.stringify(name)} is set aside in shard ${shard}`;
    throw new TurnfoldError('not_found', why, { field: 'name' });
  }
  output.line(isRestored ? 'put back: the next sweep looks at it' : 'dropped');
  return 0;
}

async function inspect<T>(ask: (inspection: Inspection, shards: number) => Promise<T>): Promise<T> {
  const { env, readFile } = readEnvironment();
  const { redisUrl: url = DEFAULT_REDIS_URL, redisTls: tls, shards } = readConfig(env, readFile);
  try {
    const inspection = await openInspection({ url, tls });
    try {
      return await ask(inspection, (await inspection.readDatabase())?.shards ?? shards);
    } finally {
      inspection.close();
    }
  } catch (error) {
    throw await explainError(error, { url, tls });
  }
}
