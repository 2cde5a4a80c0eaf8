import { DEFAULT_REDIS_URL, readConfig, readEnvironment } from '../../config.ts';
import { type Inspection, openInspection } from '../../store/inspection/open-inspection.ts';
import type { DoctorOptions } from './doctor.ts';

/**
 * Asks the database of the environment for what is set aside in it.
 * @param explain as for the doctor
 */
export async function inspectQuarantine<T>(
  ask: (inspection: Inspection, shards: number) => Promise<T>,
  explain: DoctorOptions['explain'],
): Promise<T> {
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
    throw await explain(error, { url, tls });
  }
}
