import { isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { openWakeQueue } from '../../jobs/bullmq/wake-queue.ts';
import type { NamedProfile } from '../../providers/retirements.ts';
import { type Inspection, openInspection } from '../../store/inspection.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import { findRefusal } from '../../store/redis/find-refusal.ts';
import { checkSettings } from '../config/check-settings.ts';
import type { SettingSource } from '../config/read-setting.ts';
import { type Config, DEFAULT_REDIS_URL, readConfig, readProviderSettings } from '../config.ts';
import { examineDatabase, examineGates, examineMissingAgents, examineQueues } from './database-checks.ts';
import { examineMachine, examineModels, examineProviders } from './environment-checks.ts';
import { type Finding, findOk, findWarning, findWrong } from './finding.ts';
import { examineInbox } from './inbox-check.ts';
import { examineCertificates, examineDisk, examineServers } from './server-checks.ts';

export interface DoctorOptions {
  readonly source: SettingSource;
  /** Redis address to check instead of the setting REDIS_URL. */
  readonly redisUrl?: string | undefined;
  /** True to test the key of each model provider with a call. */
  readonly asksProviders: boolean;
  readonly models?: readonly NamedProfile[];
  /** Adds a likely cause to the error of a Redis outage. */
  readonly explain: (error: unknown, location: RedisLocation) => Promise<unknown>;
}

/** Runs all checks and writes nothing. A check that fails becomes a finding, so that the other checks still run. */
export async function runDoctorChecks(options: DoctorOptions): Promise<Finding[]> {
  const { source, redisUrl, asksProviders, models = [], explain } = options;
  const hasAddress = redisUrl !== undefined;
  const env = hasAddress ? { ...source.env, REDIS_URL: redisUrl, REDIS_URL_FILE: undefined } : source.env;
  const settings = examineSettings({ ...source, env }, hasAddress ? '--redis' : 'REDIS_URL');
  // With an invalid setting, the other checks might examine another Redis or port than the workers use.
  if (settings.some(({ state }) => state === 'wrong')) return settings;
  const config = readConfig(env, source.readFile);
  const providers = readProviderSettings(env, source.readFile);
  return [
    ...settings,
    ...(await examineMachine(config, providers)),
    ...examineModels(models),
    ...(asksProviders ? await examineProviders(providers) : []),
    ...(await examineRedis(config, explain)),
  ];
}

/** @param address name of the setting or option that gave the Redis address */
function examineSettings(source: SettingSource, address: string): Finding[] {
  const name = 'settings';
  const { errors, warnings } = checkSettings(source);
  const nameAddress = (message: string): string => message.replaceAll(/\bREDIS_URL\b/g, address);
  const findings = [
    ...errors.map(({ message, field }) => {
      const isElsewhere = field === 'REDIS_URL' && address !== field;
      return findWrong(
        name,
        nameAddress(message),
        isElsewhere ? 'Correct it.' : 'Correct the setting. turnfold config print shows all settings.',
      );
    }),
    ...warnings.map((warning) => findWarning(name, nameAddress(warning), 'turnfold config schema lists all settings.')),
  ];
  return findings.length > 0 ? findings : [findOk(name, 'all settings are valid')];
}

async function examineRedis(config: Config, explain: DoctorOptions['explain']): Promise<Finding[]> {
  const {
    redisUrl: url = DEFAULT_REDIS_URL,
    redisTls: tls,
    prefix,
    durability,
    shards,
    queueShards,
    stuckMs,
    inbox: isOn,
  } = config;
  const location = { url, tls, prefix };
  let inspection: Inspection;
  try {
    inspection = await openInspection(location);
  } catch (error) {
    const refusal = await findRefusal(location);
    if (refusal !== undefined) return [findWrong('redis', refusal.message, refusal.hint)];
    return [describe('redis', await explain(error, location))];
  }
  const wakes = openWakeQueue({ ...location, shards: queueShards, onError: () => undefined, failsFast: true });
  try {
    const servers = inspection.readServers();
    const groups = [
      await runGroup('redis', async () => examineServers(await servers, inspection, durability)),
      await runGroup('access', () => examineAccess(inspection)),
      await runGroup('certificate', () => examineCertificates(location)),
      await runGroup('disk', async () => examineDisk((await servers).answers)),
      await runGroup('database', () => examineDatabase(inspection, { shards, stuckMs })),
      await runGroup('agents', async () => [examineMissingAgents(await inspection.listMissingAgents())]),
      await runGroup('gates', async () => [examineGates(await inspection.listGates())]),
      await runGroup('queues', async () => examineQueues(await wakes.reportQueues(), stuckMs)),
      await runGroup('inbox', async () => examineInbox(await wakes.reportInbox(), { isOn, stuckMs })),
    ];
    return groups.flat();
  } finally {
    inspection.close();
    await wakes.close();
  }
}

async function examineAccess(inspection: Inspection): Promise<Finding[]> {
  await inspection.checkAccess();
  return [findOk('access', 'this Redis user may run all commands that a worker needs')];
}

async function runGroup(name: string, examineOne: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await examineOne();
  } catch (error) {
    return [describe(name, error)];
  }
}

const REMEDIES: Partial<Record<TurnfoldError['code'], string>> = {
  redis_unavailable: 'Check Redis, and the network between this machine and Redis.',
  redis_denied: 'docs/how-to/secure-redis.md (Users and ACLs) lists the commands and keys that turnfold needs.',
  invalid_config: 'Correct it.',
};

function remedyOf({ code, details }: TurnfoldError): string {
  const remedy = details?.['remedy'];
  return typeof remedy === 'string' ? remedy : (REMEDIES[code] ?? 'See docs/how-to/run-in-production.md.');
}

function describe(name: string, error: unknown): Finding {
  if (isTurnfoldError(error)) return findWrong(name, error.message, remedyOf(error));
  // Here Redis has refused a command with NOPERM or NOAUTH. The message of that error contains no secret.
  const what = describeThrown(error).message;
  return findWrong(name, what, 'Allow the command for this Redis user. A managed Redis may not offer it.');
}
