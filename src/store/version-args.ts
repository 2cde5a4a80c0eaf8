import { versionEvent } from '../domain/event-record.ts';
import { shownKeys, type Version } from '../domain/version.ts';
import { encodePairs } from './script.ts';

/** A version as `lua/shared/put-version.lua` takes it. @param keepVersions how many are kept besides restore points */
export function versionArgs(version: Version, keepVersions: number): (string | number)[] {
  const { number, weight, base, baseTotal } = version;
  return [
    number,
    JSON.stringify(version),
    weight.tokens,
    weight.bytes,
    base,
    baseTotal.tokens,
    baseTotal.bytes,
    keepVersions,
    ...encodePairs(Object.entries(versionEvent(version))),
  ];
}

/** The same as arguments, their count before them. */
export function shownTexts(version: Version): (string | number)[] {
  const keys = shownKeys(version);
  return [keys.length, ...keys];
}
