import { readFileSync } from 'node:fs';
import { splitList } from '../domain/allowed-hosts.ts';
import type { Durability } from '../domain/durability.ts';
import type { RedisTls } from '../store/redis/address.ts';
import { readDurability, readRedisTls } from './config/combined-settings.ts';
import { findVariable, readSetting, type SettingSource } from './config/read-setting.ts';
import type { SettingName, SettingValue } from './config/settings.ts';

export interface Config {
  readonly redisUrl: string | undefined;
  readonly redisTls: RedisTls | undefined;
  readonly prefix: string;
  readonly shards: number;
  readonly queueShards: number;
  readonly concurrency: { readonly turn: number; readonly compaction: number; readonly summarization: number };
  readonly inbox: boolean;
  readonly metrics: { readonly host: string; readonly port: number; readonly allowedHosts: readonly string[] };
  readonly shutdownMs: number;
  readonly stuckMs: number;
  readonly missingAgentMs: number;
  readonly providerWaitMs: number;
  readonly blockedMs: number;
  readonly grafanaUrl: string | undefined;
  readonly webhooks: { readonly allowPrivate: boolean };
  /** Undefined if neither replicas nor disks must confirm a write. */
  readonly durability: Durability | undefined;
  readonly logLevel: SettingValue<'TURNFOLD_LOG_LEVEL'>;
  readonly logsContent: boolean;
  readonly tracesContent: boolean;
}

export const DEFAULT_REDIS_URL = 'redis://127.0.0.1:6379';

/** The only place that reads the environment of this process. */
export function readEnvironment(): SettingSource {
  return { env: process.env, readFile };
}

/** Sets the prefix for this process and its child processes. */
export function usePrefix(prefix: string): void {
  process.env['TURNFOLD_PREFIX' satisfies SettingName] = prefix;
}

/** Leaves out debugger options, because a child process must not claim the debugger port of this process. */
export function readChildEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: options, ...env } = process.env;
  return options === undefined ? env : { ...env, NODE_OPTIONS: dropDebugger(options.split(' ')).join(' ') };
}

/** Options of Node whose value may be the next argument. */
const WITH_VALUE: ReadonlySet<string> = new Set(['--inspect-port', '--debug-port']);

export function dropDebugger(options: readonly string[]): string[] {
  return options.filter((option, index) => {
    const isDebugger = option.startsWith('--inspect') || option.startsWith('--debug');
    return !isDebugger && !WITH_VALUE.has(options[index - 1] ?? '');
  });
}

/** @throws invalid_config with the name of the variable, and never its value */
export function readConfig(
  env: SettingSource['env'] = process.env,
  readText: SettingSource['readFile'] = readFile,
): Config {
  const source = { env, readFile: readText };
  const read = <Name extends SettingName>(name: Name): SettingValue<Name> => readSetting(source, name);
  return {
    redisUrl: read('REDIS_URL'),
    redisTls: readRedisTls(source),
    prefix: read('TURNFOLD_PREFIX'),
    shards: read('TURNFOLD_SHARDS'),
    queueShards: read('TURNFOLD_QUEUE_SHARDS'),
    concurrency: {
      turn: read('TURNFOLD_TURN_CONCURRENCY'),
      compaction: read('TURNFOLD_COMPACTION_CONCURRENCY'),
      summarization: read('TURNFOLD_SUMMARIZATION_CONCURRENCY'),
    },
    inbox: read('TURNFOLD_INBOX') === 'true',
    metrics: {
      host: read('TURNFOLD_METRICS_HOST'),
      port: read('TURNFOLD_METRICS_PORT'),
      allowedHosts: splitList(read('TURNFOLD_METRICS_ALLOWED_HOSTS')),
    },
    shutdownMs: read('TURNFOLD_SHUTDOWN_MS'),
    stuckMs: read('TURNFOLD_STUCK_MS'),
    missingAgentMs: read('TURNFOLD_MISSING_AGENT_MS'),
    providerWaitMs: read('TURNFOLD_PROVIDER_WAIT_MS'),
    blockedMs: read('TURNFOLD_BLOCKED_MS'),
    grafanaUrl: read('TURNFOLD_GRAFANA_URL'),
    webhooks: { allowPrivate: read('TURNFOLD_WEBHOOK_ALLOW_PRIVATE') === 'true' },
    durability: readDurability(source),
    logLevel: read('TURNFOLD_LOG_LEVEL'),
    logsContent: read('LOG_CONTENT') === 'true',
    tracesContent: read('TURNFOLD_TRACE_CONTENT') === 'true',
  };
}

/** Reads the address and access key of the HTTP server that `turnfold mcp` uses instead of Redis. */
export function readServer(): { readonly url: string | undefined; readonly key: string | undefined } {
  const source = readEnvironment();
  return { url: readSetting(source, 'TURNFOLD_URL'), key: readSetting(source, 'TURNFOLD_KEY') };
}

export interface ProviderSetting {
  /** Name of the variable, for the error about a missing key. */
  readonly keyVariable: string;
  /** Undefined if the variable is not set. Models of this provider then cannot be called. */
  readonly apiKey: string | undefined;
  /** Address to use instead of the provider's own. */
  readonly baseUrl: string | undefined;
}

export type ProviderSettings = Readonly<Record<'anthropic' | 'openai', ProviderSetting>>;

export function readProviderSettings(
  env: SettingSource['env'] = process.env,
  readText: SettingSource['readFile'] = readFile,
): ProviderSettings {
  const read = (provider: 'ANTHROPIC' | 'OPENAI'): ProviderSetting => ({
    keyVariable: `${provider}_API_KEY`,
    apiKey: readSetting({ env, readFile: readText }, `${provider}_API_KEY`),
    baseUrl: readSetting({ env, readFile: readText }, `${provider}_BASE_URL`),
  });
  return { anthropic: read('ANTHROPIC'), openai: read('OPENAI') };
}

/**
 * Reads the key of a provider that has no setting.
 * @throws invalid_config with the variable's name and never its value
 */
export function readProviderKey(
  variable: string,
  env: SettingSource['env'] = process.env,
  readText: SettingSource['readFile'] = readFile,
): string | undefined {
  return findVariable({ env, readFile: readText }, variable, true).text;
}

function readFile(path: string): string {
  return readFileSync(path, 'utf8');
}
