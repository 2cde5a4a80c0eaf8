import { LuaApi } from 'wasmoon-lua5.1';

/** A place in the memory of WebAssembly. 0 is none. */
export type Pointer = number;

/** Functions of Lua 5.1, as its manual describes them, over the memory of WebAssembly. */
interface LuaFunctions {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
  readonly addFunction: (call: (state: Pointer) => number, types: string) => Pointer;
  readonly stringToNewUTF8: (text: string) => Pointer;
  readonly _malloc: (bytes: number) => Pointer;
  readonly _free: (place: Pointer) => void;
  readonly _luaL_newstate: () => Pointer;
  readonly _luaL_openlibs: (state: Pointer) => void;
  readonly _luaL_loadbuffer: (state: Pointer, text: Pointer, bytes: number, name: Pointer) => number;
  readonly _luaL_ref: (state: Pointer, table: number) => number;
  readonly _lua_createtable: (state: Pointer, items: number, fields: number) => void;
  readonly _lua_error: (state: Pointer) => number;
  readonly _lua_getfield: (state: Pointer, at: number, name: Pointer) => void;
  readonly _lua_gettop: (state: Pointer) => number;
  readonly _lua_next: (state: Pointer, at: number) => number;
  readonly _lua_pcall: (state: Pointer, given: number, results: number, handler: number) => number;
  readonly _lua_pushboolean: (state: Pointer, value: number) => void;
  readonly _lua_pushcclosure: (state: Pointer, call: Pointer, values: number) => void;
  readonly _lua_pushlightuserdata: (state: Pointer, value: Pointer) => void;
  readonly _lua_pushlstring: (state: Pointer, text: Pointer, bytes: number) => void;
  readonly _lua_pushnil: (state: Pointer) => void;
  readonly _lua_pushnumber: (state: Pointer, value: number) => void;
  readonly _lua_rawgeti: (state: Pointer, at: number, index: number) => void;
  readonly _lua_rawset: (state: Pointer, at: number) => void;
  readonly _lua_rawseti: (state: Pointer, at: number, index: number) => void;
  readonly _lua_setfield: (state: Pointer, at: number, name: Pointer) => void;
  readonly _lua_settop: (state: Pointer, top: number) => void;
  readonly _lua_toboolean: (state: Pointer, at: number) => number;
  readonly _lua_tolstring: (state: Pointer, at: number, length: Pointer) => Pointer;
  readonly _lua_tonumber: (state: Pointer, at: number) => number;
  readonly _lua_type: (state: Pointer, at: number) => number;
}

export const LUA = { nil: 0, boolean: 1, lightuserdata: 2, number: 3, string: 4, table: 5 } as const;
export const REGISTRY = -10_000;
export const GLOBALS = -10_002;

/** Longer texts are copied by a Buffer, shorter ones faster by hand. */
const COPIED_BY_HAND = 48;
const FIRST_BYTES = 65_536;

/** Lua 5.1 in WebAssembly, with texts that hold bytes (latin1), as the texts of Lua do. */
export class LuaModule {
  readonly lua: LuaFunctions;
  readonly #names = new Map<string, Pointer>();
  readonly #length: Pointer;
  #room: { readonly at: Pointer; readonly bytes: number };

  private constructor(lua: LuaFunctions) {
    this.lua = lua;
    this.#length = lua._malloc(8);
    this.#room = { at: lua._malloc(FIRST_BYTES), bytes: FIRST_BYTES };
  }

  static async load(): Promise<LuaModule> {
    const { module } = await LuaApi.initialize();
    // The package types its wrappers only, which read texts as UTF-8.
    return new LuaModule(module as unknown as LuaFunctions);
  }

  /** @returns a C string, which is kept: only for names that the program knows */
  nameOf(text: string): Pointer {
    const known = this.#names.get(text) ?? this.lua.stringToNewUTF8(text);
    this.#names.set(text, known);
    return known;
  }

  pushText(state: Pointer, text: string): void {
    this.lua._lua_pushlstring(state, this.place(text), text.length);
  }

  /** Copies a text into memory, where it stays until the next call. */
  place(text: string): Pointer {
    const bytes = text.length;
    if (bytes > this.#room.bytes) {
      this.lua._free(this.#room.at);
      this.#room = { at: this.lua._malloc(2 * bytes), bytes: 2 * bytes };
    }
    const { at } = this.#room;
    const { HEAPU8 } = this.lua;
    if (bytes > COPIED_BY_HAND) Buffer.from(HEAPU8.buffer, at, bytes).write(text, 'latin1');
    else for (let index = 0; index < bytes; index += 1) HEAPU8[at + index] = text.charCodeAt(index);
    return at;
  }

  textAt(state: Pointer, at: number): string {
    const place = this.lua._lua_tolstring(state, at, this.#length);
    if (place === 0) return '';
    const bytes = this.lua.HEAPU32[this.#length >> 2] as number;
    const { HEAPU8 } = this.lua;
    if (bytes > COPIED_BY_HAND) return Buffer.from(HEAPU8.buffer, place, bytes).toString('latin1');
    return String.fromCharCode(...HEAPU8.subarray(place, place + bytes));
  }

  pop(state: Pointer): void {
    this.lua._lua_settop(state, -2);
  }

  /** Sets a field of the table on top to a function. */
  setFunction(state: Pointer, name: string, call: (state: Pointer) => number): void {
    this.lua._lua_pushcclosure(state, this.lua.addFunction(call, 'ii'), 0);
    this.lua._lua_setfield(state, -2, this.nameOf(name));
  }
}
