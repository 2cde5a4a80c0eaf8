import { checkSettings } from '../../config/check-settings.ts';
import type { SettingSource } from '../../config/read-setting.ts';
import { type Config, DEFAULT_REDIS_URL, readConfig, readProviderSettings } from '../../config.ts';
import { isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { type Finding, findOk, findWarning, findWrong } from '../../health/finding.ts';
import { openWakeQueue } from '../../queue/wake-queue.ts';
import type { RedisLocation } from '../../redis/address.ts';
import { findRefusal } from '../../redis/find-refusal.ts';
import { type Inspection, openInspection } from '../../store/inspection.ts';
import { examineCertificates } from './certificates.ts';
import { examineDatabase } from './database.ts';
import { examineDisk } from './disk.ts';
import { examineMachine } from './machine.ts';
import { examineProviders } from './providers.ts';
import { examineQueues } from './queues.ts';
import { examineServers } from './server.ts';

export interface DoctorOptions {
  readonly source: SettingSource;
  /** over REDIS_URL */
  readonly redisUrl?: string | undefined;
  /** ask the providers, too */
  readonly asksProviders: boolean;
  /** an outage in words that say more, where there are any */
  readonly explain: (error: unknown, location: RedisLocation) => Promise<unknown>;
}

/** Looks at all that turnfold stands on, and writes nothing. Never throws for what it finds. */
export async function examine({ source, redisUrl, asksProviders, explain }: DoctorOptions): Promise<Finding[]> {
  const isTold = redisUrl !== undefined;
  const env = isTold ? { ...source.env, REDIS_URL: redisUrl, REDIS_URL_FILE: undefined } : source.env;
  const settings = examineSettings({ ...source, env }, isTold ? '--redis' : 'REDIS_URL');
  // Half of the settings would be a guess at the rest.
  if (settings.some(({ state }) => state === 'wrong')) return settings;
  const config = readConfig(env, source.readFile);
  const providers = readProviderSettings(env, source.readFile);
  return [
    ...settings,
    ...(await examineMachine(config, providers)),
    ...(asksProviders ? await examineProviders(providers) : []),
    ...(await examineRedis(config, explain)),
  ];
}

/** @param address what the Redis was told as */
function examineSettings(source: SettingSource, address: string): Finding[] {
  const name = 'settings';
  const { errors, warnings } = checkSettings(source);
  const tell = (message: string): string => message.replaceAll(/\bREDIS_URL\b/g, address);
  const findings = [
    ...errors.map(({ message, field }) => {
      const isElsewhere = field === 'REDIS_URL' && address !== field;
      return findWrong(
        name,
        tell(message),
        isElsewhere ? 'Correct it.' : 'Correct it; turnfold config print shows all of them.',
      );
    }),
    ...warnings.map((warning) => findWarning(name, tell(warning), 'turnfold config schema names all there are.')),
  ];
  return findings.length > 0 ? findings : [findOk(name, 'all of them can be read')];
}

async function examineRedis(config: Config, explain: DoctorOptions['explain']): Promise<Finding[]> {
  const { redisUrl: url = DEFAULT_REDIS_URL, redisTls: tls, durability, shards, queueShards, stuckMs } = config;
  let inspection: Inspection;
  try {
    inspection = await openInspection({ url, tls });
  } catch (error) {
    const refusal = await findRefusal({ url, tls });
    if (refusal !== undefined) return [findWrong('redis', refusal.message, refusal.hint)];
    return [describe('redis', await explain(error, { url, tls }))];
  }
  const wakes = openWakeQueue({ url, tls, shards: queueShards, onError: () => undefined, failsFast: true });
  try {
    const servers = inspection.readServers();
    const groups = [
      await look('redis', async () => examineServers(await servers, inspection, durability)),
      await look('access', () => examineAccess(inspection)),
      await look('certificate', () => examineCertificates({ url, tls })),
      await look('disk', async () => examineDisk((await servers).answers)),
      await look('database', () => examineDatabase(inspection, { shards, stuckMs })),
      await look('queues', async () => examineQueues(await wakes.reportQueues(), stuckMs)),
    ];
    return groups.flat();
  } finally {
    inspection.close();
    await wakes.close();
  }
}

async function examineAccess(inspection: Inspection): Promise<Finding[]> {
  await inspection.checkAccess();
  return [findOk('access', 'its ACL allows all that a worker does')];
}

/** One look that fails is a finding, and the others go on. */
async function look(name: string, examineOne: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await examineOne();
  } catch (error) {
    return [describe(name, error)];
  }
}

const REMEDIES: Partial<Record<TurnfoldError['code'], string>> = {
  redis_unavailable: 'Start Redis, or correct REDIS_URL (or --redis).',
  redis_denied: 'docs/how-to/secure-redis.md (Users and ACLs) lists what turnfold needs.',
  invalid_config: 'Correct it.',
};

function describe(name: string, error: unknown): Finding {
  if (isTurnfoldError(error))
    return findWrong(name, error.message, REMEDIES[error.code] ?? 'See docs/how-to/run-in-production.md.');
  // What Redis says of a command that is refused (NOPERM, NOAUTH) holds no secret.
  const what = describeThrown(error).message;
  return findWrong(name, what, 'See that this user may run it: an ACL of Redis, or a managed one that hides it.');
}
