import { LuaApi } from 'wasmoon-lua5.1';
import { ReplyError } from './reply.ts';

export type Pointer = number;

/** Views of the WebAssembly memory. When the memory grows, new views replace them. */
interface Memory {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
}

/** Functions of Lua 5.1, as in its manual. Names of the auxiliary library (`luaL_`) begin with `aux` here. */
interface LuaFunctions {
  readonly addFunction: (call: (state: Pointer) => number, types: string) => Pointer;
  readonly stringToNewUTF8: (text: string) => Pointer;
  readonly malloc: (bytes: number) => Pointer;
  readonly free: (place: Pointer) => void;
  readonly auxNewstate: () => Pointer;
  readonly auxOpenlibs: (state: Pointer) => void;
  readonly auxLoadbuffer: (state: Pointer, text: Pointer, bytes: number, name: Pointer) => number;
  readonly auxRef: (state: Pointer, table: number) => number;
  readonly createtable: (state: Pointer, items: number, fields: number) => void;
  readonly error: (state: Pointer) => number;
  readonly getfield: (state: Pointer, at: number, name: Pointer) => void;
  readonly gettop: (state: Pointer) => number;
  readonly next: (state: Pointer, at: number) => number;
  readonly pcall: (state: Pointer, given: number, results: number, handler: number) => number;
  readonly pushboolean: (state: Pointer, value: number) => void;
  readonly pushcclosure: (state: Pointer, call: Pointer, values: number) => void;
  readonly pushlightuserdata: (state: Pointer, value: Pointer) => void;
  readonly pushlstring: (state: Pointer, text: Pointer, bytes: number) => void;
  readonly pushnil: (state: Pointer) => void;
  readonly pushnumber: (state: Pointer, value: number) => void;
  readonly rawgeti: (state: Pointer, at: number, index: number) => void;
  readonly rawset: (state: Pointer, at: number) => void;
  readonly rawseti: (state: Pointer, at: number, index: number) => void;
  readonly setfield: (state: Pointer, at: number, name: Pointer) => void;
  readonly settop: (state: Pointer, top: number) => void;
  readonly toboolean: (state: Pointer, at: number) => number;
  readonly tolstring: (state: Pointer, at: number, length: Pointer) => Pointer;
  readonly tonumber: (state: Pointer, at: number) => number;
  readonly type: (state: Pointer, at: number) => number;
}

export const LUA = { nil: 0, boolean: 1, lightuserdata: 2, number: 3, string: 4, table: 5 } as const;
export const REGISTRY = -10_000;
export const GLOBALS = -10_002;

/** Longest text in bytes that a loop copies. For longer texts, a Buffer is faster than a loop. */
const COPIED_BY_HAND = 48;
const FIRST_BYTES = 65_536;

/** Lua 5.1 in WebAssembly, with texts that hold bytes (latin1), as the texts of Lua do. */
export class LuaModule {
  readonly lua: LuaFunctions;
  readonly #memory: Memory;
  readonly #names = new Map<string, Pointer>();
  readonly #length: Pointer;
  #room: { readonly at: Pointer; readonly bytes: number };

  private constructor(memory: Memory) {
    this.#memory = memory;
    this.lua = nameFunctions(memory);
    this.#length = this.lua.malloc(8);
    this.#room = { at: this.lua.malloc(FIRST_BYTES), bytes: FIRST_BYTES };
  }

  static async load(): Promise<LuaModule> {
    const api: { readonly module: Memory } = await LuaApi.initialize();
    return new LuaModule(api.module);
  }

  /** Places a C string that is never freed, so this is only for names in the code. */
  nameOf(text: string): Pointer {
    const known = this.#names.get(text) ?? this.lua.stringToNewUTF8(text);
    this.#names.set(text, known);
    return known;
  }

  pushText(state: Pointer, text: string): void {
    this.lua.pushlstring(state, this.place(text), text.length);
  }

  /** Copies a text into the memory of Lua. The copy stays until the next call. */
  place(text: string): Pointer {
    const bytes = text.length;
    if (bytes > this.#room.bytes) {
      this.lua.free(this.#room.at);
      this.#room = { at: this.lua.malloc(2 * bytes), bytes: 2 * bytes };
    }
    const { at } = this.#room;
    const { HEAPU8 } = this.#memory;
    if (bytes > COPIED_BY_HAND) Buffer.from(HEAPU8.buffer, at, bytes).write(text, 'latin1');
    else for (let index = 0; index < bytes; index += 1) HEAPU8[at + index] = text.charCodeAt(index);
    return at;
  }

  textAt(state: Pointer, at: number): string {
    const place = this.lua.tolstring(state, at, this.#length);
    if (place === 0) return '';
    const bytes = this.#memory.HEAPU32[this.#length >> 2] as number;
    const { HEAPU8 } = this.#memory;
    if (bytes > COPIED_BY_HAND) return Buffer.from(HEAPU8.buffer, place, bytes).toString('latin1');
    let text = '';
    for (let index = 0; index < bytes; index += 1) text += String.fromCharCode(HEAPU8[place + index] as number);
    return text;
  }

  pop(state: Pointer): void {
    this.lua.settop(state, -2);
  }

  setFunction(state: Pointer, name: string, call: (state: Pointer) => number): void {
    this.lua.pushcclosure(state, this.lua.addFunction(call, 'ii'), 0);
    this.lua.setfield(state, -2, this.nameOf(name));
  }
}

function nameFunctions(module: object): LuaFunctions {
  const named = Object.entries(module).map(([name, value]): [string, unknown] => [
    name.replace(/^_luaL_(.)/, (_, first: string) => `aux${first.toUpperCase()}`).replace(/^_(?:lua_)?/, ''),
    value,
  ]);
  return Object.fromEntries(named) as unknown as LuaFunctions;
}

const MAX_DEPTH = 1_000;

/**
 * Pushes a JSON value onto the stack of Lua.
 * @param isNil true: `null` becomes nil, as in `cmsgpack.unpack`. False: a light userdata, as in `cjson.decode`
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

/** Encodes a Lua value as `cjson.encode` does: a table with the keys 1 to n is a list. */
export function encodeJson(module: LuaModule, state: Pointer, at: number, depth = 0): string {
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
    fields.push([key, encodeJson(module, state, top, depth + 1)]);
    module.pop(state);
  }
  const isList = fields.length > 0 && fields.every(([key]) => typeof key === 'number' && key > 0);
  if (!isList) return `{${fields.map(([key, json]) => `${quote(String(key))}:${json}`).join(',')}}`;
  const items = new Map(fields);
  const last = Math.max(...fields.map(([key]) => Number(key)));
  return `[${Array.from({ length: last }, (_, index) => items.get(index + 1) ?? 'null').join(',')}]`;
}

/** Writes a number with 14 digits, as cjson does. */
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
