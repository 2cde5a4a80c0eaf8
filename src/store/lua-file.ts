/**
 * Loads a script from `lua/`. Three directives become Lua code:
 * - `-- @include NAME` copies `lua/shared/NAME.lua`, which may include further files. A file is copied only once.
 * - `-- @keys a, b` names the keys of a call: `local a, b = unpack(KEYS, 1, 2)`.
 * - `-- @args a, b, ...` names its arguments. With `...`, further arguments follow, and `rest` is the index of the first.
 *
 * Only Lua has the order of the names. A definition in TypeScript gives its values by name, so it cannot confuse two
 * values.
 */

import { readFileSync } from 'node:fs';

export interface LuaFile {
  readonly text: string;
  readonly keys: readonly string[];
  /** Names of the arguments. The last name is `rest` if further arguments follow. */
  readonly args: readonly string[];
}

/** Loaded scripts, by name. A process that opens many stores, as tests do, reads each file once. */
const loaded = new Map<string, LuaFile>();

/** @param name name of the file, without its extension */
export function loadLua(name: string): LuaFile {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const whole = copyIncluded(name, new Set());
  const [keys, args] = [readNames(whole, 'keys'), readNames(whole, 'args')];
  const text = whole
    .replace(directive('keys'), declare('KEYS', keys))
    .replace(directive('args'), declare('ARGV', args));
  const file = { text, keys, args };
  loaded.set(name, file);
  return file;
}

/**
 * Reads a file with the files that it includes. An indented include is copied inside its block, for this block alone.
 * The included definitions run only if that block runs. Redis runs all definitions of a script at each call: about a
 * microsecond for each function.
 */
function copyIncluded(path: string, copied: Set<string>): string {
  const file = readFileSync(new URL(`./lua/${path}.lua`, import.meta.url), 'utf8');
  return file.replace(/^( *)-- @include (\S+)\n/gm, (_, indent: string, part: string) => {
    if (copied.has(part)) return '';
    const inScope = indent === '' ? copied : new Set(copied);
    inScope.add(part);
    return copyIncluded(`shared/${part}`, inScope);
  });
}

/** Matches a directive with its names. After a comma at the end of a line, the next comment line has further names. */
function directive(kind: 'keys' | 'args'): RegExp {
  return new RegExp(`^-- @${kind} ((?:.*,\\n-- )*.*)$`, 'm');
}

function readNames(text: string, kind: 'keys' | 'args'): string[] {
  const names =
    directive(kind)
      .exec(text)?.[1]
      ?.match(/\w+|\.{3}/g) ?? [];
  return names.map((name) => (name === '...' ? 'rest' : name));
}

function declare(list: 'KEYS' | 'ARGV', names: readonly string[]): string {
  const named = names.filter((name) => name !== 'rest');
  const values = named.length === 0 ? '' : `local ${named.join(', ')} = unpack(${list}, 1, ${named.length}) `;
  return named.length === names.length ? values : `${values}local rest = ${named.length + 1}`;
}
