import type { Durability } from '../domain/durability.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { readSetting, type SettingSource } from './read-setting.ts';

/** Undefined where neither replicas nor disks are asked for. @throws invalid_config, with the variable's name */
export function readDurability(source: SettingSource): Durability | undefined {
  const replicas = readSetting(source, 'TURNFOLD_DURABLE_REPLICAS');
  const timeoutMs = readSetting(source, 'TURNFOLD_DURABLE_TIMEOUT_MS');
  const fsync = readSetting(source, 'TURNFOLD_DURABLE_FSYNC');
  if (replicas === 0 && fsync === 'none') return undefined;
  if (replicas === 0 && fsync === 'replica') {
    const field = 'TURNFOLD_DURABLE_REPLICAS';
    throw new TurnfoldError('invalid_config', `${field}: must be 1 or more where TURNFOLD_DURABLE_FSYNC is replica`, {
      field,
    });
  }
  return { replicas, timeoutMs, ...(fsync !== 'none' && { fsync }) };
}
