import { LuaApi } from 'wasmoon-lua5.1';

/** A place in the memory of WebAssembly. 0 is none. */
export type Pointer = number;

/** The memory of WebAssembly. It is another one after it has grown. */
interface Memory {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
}

/** Functions of Lua 5.1, as its manual describes them: those of the auxiliary library (`luaL_`) begin with `aux`. */
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

/** Longer texts are copied by a Buffer, shorter ones faster by hand. */
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

  /** @returns a C string, which is kept: only for names that the program knows */
  nameOf(text: string): Pointer {
    const known = this.#names.get(text) ?? this.lua.stringToNewUTF8(text);
    this.#names.set(text, known);
    return known;
  }

  pushText(state: Pointer, text: string): void {
    this.lua.pushlstring(state, this.place(text), text.length);
  }

  /** Copies a text into memory, where it stays until the next call. */
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

  /** Sets a field of the table on top to a function. */
  setFunction(state: Pointer, name: string, call: (state: Pointer) => number): void {
    this.lua.pushcclosure(state, this.lua.addFunction(call, 'ii'), 0);
    this.lua.setfield(state, -2, this.nameOf(name));
  }
}

/** Names the functions of the module without its prefixes. */
function nameFunctions(module: object): LuaFunctions {
  const named = Object.entries(module).map(([name, value]): [string, unknown] => [
    name.replace(/^_luaL_(.)/, (_, first: string) => `aux${first.toUpperCase()}`).replace(/^_(?:lua_)?/, ''),
    value,
  ]);
  return Object.fromEntries(named) as unknown as LuaFunctions;
}
