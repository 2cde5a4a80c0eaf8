import { LUA, type LuaModule, type Pointer } from './lua-module.ts';
import { ReplyError } from './reply.ts';

const MAX_DEPTH = 1_000;

/**
 * Pushes a JSON value.
 * @param isNil true for `null` as nil, as in `cmsgpack.unpack`. False for a light userdata, as in `cjson.decode`
 */
export function pushJson(module: LuaModule, state: Pointer, value: unknown, isNil = false): void {
  const { lua } = module;
  if (value === null || value === undefined) {
    if (isNil) lua.pushnil(state);
    else lua.pushlightuserdata(state, 0);
  } else if (typeof value === 'boolean') lua.pushboolean(state, Number(value));
  else if (typeof value === 'number' || typeof value === 'bigint') lua.pushnumber(state, Number(value));
  else if (typeof value === 'string') module.pushText(state, bytesOf(value));
  else if (value instanceof Uint8Array) module.pushText(state, Buffer.from(value).toString('latin1'));
  else if (Array.isArray(value)) {
    lua.createtable(state, value.length, 0);
    for (const [index, item] of value.entries()) {
      pushJson(module, state, item, isNil);
      lua.rawseti(state, -2, index + 1);
    }
  } else {
    lua.createtable(state, 0, 8);
    for (const [name, item] of Object.entries(value)) {
      module.pushText(state, bytesOf(name));
      pushJson(module, state, item, isNil);
      lua.rawset(state, -3);
    }
  }
}

/** Writes a value of Lua as JSON, as `cjson.encode` does. A table with the keys 1 to n is a list. */
export function writeJson(module: LuaModule, state: Pointer, at: number, depth = 0): string {
  const { lua } = module;
  if (depth > MAX_DEPTH) throw new ReplyError('ERR Cannot serialise, excessive depth');
  switch (lua.type(state, at)) {
    case LUA.nil:
    case LUA.lightuserdata:
      return 'null';
    case LUA.boolean:
      return lua.toboolean(state, at) === 1 ? 'true' : 'false';
    case LUA.number:
      return writeNumber(lua.tonumber(state, at));
    case LUA.string:
      return quote(module.textAt(state, at));
    case LUA.table:
      return writeTable(module, state, at, depth);
    default:
      throw new ReplyError('ERR Cannot serialise: type not supported');
  }
}

function writeTable(module: LuaModule, state: Pointer, at: number, depth: number): string {
  const { lua } = module;
  const fields: (readonly [key: string | number, json: string])[] = [];
  lua.pushnil(state);
  while (lua.next(state, at) !== 0) {
    const top = lua.gettop(state);
    const isIndex = lua.type(state, top - 1) === LUA.number;
    const key = isIndex ? lua.tonumber(state, top - 1) : module.textAt(state, top - 1);
    fields.push([key, writeJson(module, state, top, depth + 1)]);
    module.pop(state);
  }
  const isList = fields.length > 0 && fields.every(([key]) => typeof key === 'number' && key > 0);
  if (!isList) return `{${fields.map(([key, json]) => `${quote(String(key))}:${json}`).join(',')}}`;
  const items = new Map(fields);
  const last = Math.max(...fields.map(([key]) => Number(key)));
  return `[${Array.from({ length: last }, (_, index) => items.get(index + 1) ?? 'null').join(',')}]`;
}

/** 14 digits, as cjson does. */
function writeNumber(value: number): string {
  if (!Number.isFinite(value)) throw new ReplyError('ERR Cannot serialise number: must not be NaN or Inf');
  return String(Number.isInteger(value) && Math.abs(value) < 1e14 ? value : Number(value.toPrecision(14)));
}

function quote(text: string): string {
  return JSON.stringify(text).replaceAll('/', String.raw`\/`).replaceAll('\u007F', String.raw`\u007f`);
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
