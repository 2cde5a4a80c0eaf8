import type { Durability } from '../../domain/durability.ts';
import { fieldError } from '../../domain/errors.ts';
import type { RedisTls } from '../../store/redis/address.ts';
import { findMisfit } from '../../store/redis/tls.ts';
import { findText, readSetting, type SettingSource } from './read-setting.ts';

/** @throws invalid_config if a setting is invalid, or if disks of replicas must confirm a write but no replica must */
export function readDurability(source: SettingSource): Durability | undefined {
  const replicas = readSetting(source, 'TURNFOLD_DURABLE_REPLICAS');
  const timeoutMs = readSetting(source, 'TURNFOLD_DURABLE_TIMEOUT_MS');
  const fsync = readSetting(source, 'TURNFOLD_DURABLE_FSYNC');
  if (replicas === 0 && fsync === 'none') return undefined;
  if (replicas === 0 && fsync === 'replica') {
    const field = 'TURNFOLD_DURABLE_REPLICAS';
    throw fieldError('invalid_config', field, 'must be 1 or more, because TURNFOLD_DURABLE_FSYNC is replica');
  }
  return { replicas, timeoutMs, ...(fsync !== 'none' && { fsync }) };
}

export const TLS_SETTINGS = {
  ca: 'REDIS_CA',
  cert: 'REDIS_CERT',
  key: 'REDIS_KEY',
  serverName: 'REDIS_SERVER_NAME',
} as const satisfies Record<keyof RedisTls, string>;

/** @throws invalid_config if a setting is invalid, or certificate and key do not belong together */
export function readRedisTls(source: SettingSource): RedisTls | undefined {
  const entries = Object.entries(TLS_SETTINGS)
    .map(([field, name]) => [field, readSetting(source, name)] as const)
    .filter(([, text]) => text !== undefined);
  if (entries.length === 0) return undefined;
  const tls: RedisTls = Object.fromEntries(entries);
  const misfit = findMisfit(tls);
  if (misfit === undefined) return tls;
  const { field } = findText(source, TLS_SETTINGS[misfit.field]);
  throw fieldError('invalid_config', field, misfit.message);
}
