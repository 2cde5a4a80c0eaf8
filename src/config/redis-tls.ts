import { TurnfoldError } from '../domain/errors.ts';
import type { RedisTls } from '../redis/address.ts';
import { findMisfit } from '../redis/tls.ts';
import { findText, readSetting, type SettingSource } from './read-setting.ts';

export const TLS_SETTINGS = {
  ca: 'REDIS_CA',
  cert: 'REDIS_CERT',
  key: 'REDIS_KEY',
  serverName: 'REDIS_SERVER_NAME',
} as const satisfies Record<keyof RedisTls, string>;

/** Undefined where nothing is said of it. @throws invalid_config, with the variable's name */
export function readRedisTls(source: SettingSource): RedisTls | undefined {
  const entries = Object.entries(TLS_SETTINGS)
    .map(([field, name]) => [field, readSetting(source, name)] as const)
    .filter(([, text]) => text !== undefined);
  if (entries.length === 0) return undefined;
  const tls: RedisTls = Object.fromEntries(entries);
  const misfit = findMisfit(tls);
  if (misfit === undefined) return tls;
  const { field } = findText(source, TLS_SETTINGS[misfit.field]);
  throw new TurnfoldError('invalid_config', `${field}: ${misfit.message}`, { field });
}
