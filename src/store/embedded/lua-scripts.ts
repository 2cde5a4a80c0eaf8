import { createHash } from 'node:crypto';
import { unpack } from 'msgpackr';
import { encodeJson, GLOBALS, LUA, LuaModule, type Pointer, pushJson, REGISTRY } from './lua-module.ts';
import { type Reply, ReplyError, Status } from './reply.ts';

type RunCommand = (name: string, args: string[]) => Reply;

/**
 * Restricts Lua as Redis does: no libraries for files and processes, and no global variables besides those that exist
 * here.
 */
const SANDBOX = [
  'io, os, package, require, module, dofile, loadfile, print, newproxy = nil',
  'setmetatable(_G, {',
  `__index = function(_, name) error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2) end,`,
  `__newindex = function() error('Attempt to modify a readonly table', 2) end`,
  '})',
].join('\n');

let loading: Promise<LuaScripts> | undefined;

/** Compiles each script once in a process. */
export class LuaScripts {
  readonly #module: LuaModule;
  readonly #state: Pointer;
  readonly #compiled = new Map<string, number>();
  #run: RunCommand = () => null;

  private constructor(module: LuaModule) {
    this.#module = module;
    this.#state = module.lua.auxNewstate();
    this.#openLibraries();
  }

  static load(): Promise<LuaScripts> {
    loading ??= LuaModule.load()
      .then((module) => new LuaScripts(module))
      .catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
    return loading;
  }

  /**
   * @returns the hash of the script
   * @throws ReplyError if the text is not valid Lua
   */
  compile(script: string): string {
    const sha = sha1(script);
    if (this.#compiled.has(sha)) return sha;
    const { lua } = this.#module;
    const text = script.replace(/^#![^\n]*/, '');
    const status = lua.auxLoadbuffer(
      this.#state,
      this.#module.place(text),
      text.length,
      this.#module.nameOf('@user_script'),
    );
    if (status !== 0) throw new ReplyError(`ERR Error compiling script (new function): ${this.#popText()}`);
    this.#compiled.set(sha, lua.auxRef(this.#state, REGISTRY));
    return sha;
  }

  /** @throws ReplyError of the script */
  run(
    sha: string,
    { keys, args, run }: { readonly keys: string[]; readonly args: string[]; readonly run: RunCommand },
  ): Reply {
    const { lua } = this.#module;
    const state = this.#state;
    this.#run = run;
    this.#setList('KEYS', keys);
    this.#setList('ARGV', args);
    lua.rawgeti(state, REGISTRY, this.#compiled.get(sha) as number);
    const hasFailed = lua.pcall(state, 0, 1, 0) !== 0;
    try {
      if (!hasFailed) return this.#readReply(lua.gettop(state));
      const isTable = lua.type(state, -1) === LUA.table;
      if (isTable) lua.getfield(state, -1, this.#module.nameOf('err'));
      const message = this.#module.textAt(state, -1);
      throw new ReplyError(isTable ? message : `ERR ${message} script: ${sha}, on @user_script.`);
    } finally {
      lua.settop(state, 0);
    }
  }

  #openLibraries(): void {
    const module = this.#module;
    const { lua } = module;
    lua.auxOpenlibs(this.#state);
    this.#setLibrary('redis', {
      call: (state) => this.#call(state, true),
      pcall: (state) => this.#call(state, false),
      sha1hex: (state) => this.#push(state, sha1(module.textAt(state, 1))),
      error_reply: (state) => this.#pushTable(state, 'err', module.textAt(state, 1)),
      status_reply: (state) => this.#pushTable(state, 'ok', module.textAt(state, 1)),
      acl_check_cmd: (state) => (lua.pushboolean(state, 1), 1),
      log: () => 0,
      setresp: () => 0,
    });
    this.#setLibrary('cjson', {
      decode: (state) => this.#decode(state, () => JSON.parse(utf8(module.textAt(state, 1)).toString()) as unknown),
      encode: (state) => this.#push(state, encodeJson(module, state, 1)),
    });
    this.#setLibrary('cmsgpack', {
      unpack: (state) => this.#decode(state, () => unpack(utf8(module.textAt(state, 1))) as unknown, true),
    });
    this.#setNull();
    const status = lua.auxLoadbuffer(this.#state, module.place(SANDBOX), SANDBOX.length, module.nameOf('@sandbox'));
    if (status !== 0 || lua.pcall(this.#state, 0, 0, 0) !== 0) throw new Error(this.#popText());
  }

  #setLibrary(name: string, calls: Readonly<Record<string, (state: Pointer) => number>>): void {
    const { lua } = this.#module;
    lua.createtable(this.#state, 0, 8);
    for (const [call, run] of Object.entries(calls)) this.#module.setFunction(this.#state, call, run);
    lua.setfield(this.#state, GLOBALS, this.#module.nameOf(name));
  }

  #setNull(): void {
    const { lua } = this.#module;
    lua.getfield(this.#state, GLOBALS, this.#module.nameOf('cjson'));
    lua.pushlightuserdata(this.#state, 0);
    lua.setfield(this.#state, -2, this.#module.nameOf('null'));
    this.#module.pop(this.#state);
  }

  #call(state: Pointer, throws: boolean): number {
    const { lua } = this.#module;
    try {
      const args = Array.from({ length: lua.gettop(state) }, (_, index) => this.#readArgument(state, index + 1));
      this.#pushReply(state, this.#run(args[0] ?? '', args.slice(1)));
      return 1;
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      this.#pushTable(state, 'err', error.message);
      return throws ? lua.error(state) : 1;
    }
  }

  #readArgument(state: Pointer, at: number): string {
    const type = this.#module.lua.type(state, at);
    if (type === LUA.number) return String(this.#module.lua.tonumber(state, at));
    if (type === LUA.string) return this.#module.textAt(state, at);
    throw new ReplyError('ERR Lua redis lib command arguments must be strings or integers');
  }

  #decode(state: Pointer, read: () => unknown, isNil = false): number {
    try {
      pushJson(this.#module, state, read(), isNil);
      return 1;
    } catch (error) {
      this.#module.pushText(state, `Expected value but found invalid token: ${(error as Error).message}`);
      return this.#module.lua.error(state);
    }
  }

  #push(state: Pointer, text: string): 1 {
    this.#module.pushText(state, text);
    return 1;
  }

  #pushTable(state: Pointer, name: 'err' | 'ok', text: string): 1 {
    this.#module.lua.createtable(state, 0, 1);
    this.#module.pushText(state, text);
    this.#module.lua.setfield(state, -2, this.#module.nameOf(name));
    return 1;
  }

  #pushReply(state: Pointer, reply: Reply): void {
    const { lua } = this.#module;
    if (reply === null) lua.pushboolean(state, 0);
    else if (typeof reply === 'number') lua.pushnumber(state, reply);
    else if (typeof reply === 'string') this.#module.pushText(state, reply);
    else if (reply instanceof Status) this.#pushTable(state, 'ok', reply.text);
    else {
      lua.createtable(state, reply.length, 0);
      for (let index = 0; index < reply.length; index += 1) {
        this.#pushReply(state, reply[index] as Reply);
        lua.rawseti(state, -2, index + 1);
      }
    }
  }

  #readReply(at: number): Reply {
    const { lua } = this.#module;
    switch (lua.type(this.#state, at)) {
      case LUA.number:
        return Math.trunc(lua.tonumber(this.#state, at));
      case LUA.string:
        return this.#module.textAt(this.#state, at);
      case LUA.boolean:
        return lua.toboolean(this.#state, at) === 1 ? 1 : null;
      case LUA.table:
        return this.#readTable(at);
      default:
        return null;
    }
  }

  #readTable(at: number): Reply {
    const failure = this.#readField(at, 'err');
    if (failure !== undefined) throw new ReplyError(failure);
    const status = this.#readField(at, 'ok');
    if (status !== undefined) return new Status(status);
    const { lua } = this.#module;
    const list: Reply[] = [];
    for (let index = 1; ; index += 1) {
      lua.rawgeti(this.#state, at, index);
      const isEnd = lua.type(this.#state, -1) === LUA.nil;
      if (!isEnd) list.push(this.#readReply(lua.gettop(this.#state)));
      this.#module.pop(this.#state);
      if (isEnd) return list;
    }
  }

  #readField(at: number, name: 'err' | 'ok'): string | undefined {
    const { lua } = this.#module;
    lua.getfield(this.#state, at, this.#module.nameOf(name));
    const text = lua.type(this.#state, -1) === LUA.string ? this.#module.textAt(this.#state, -1) : undefined;
    this.#module.pop(this.#state);
    return text;
  }

  #setList(name: 'KEYS' | 'ARGV', list: readonly string[]): void {
    const { lua } = this.#module;
    this.#module.pushText(this.#state, name);
    lua.createtable(this.#state, list.length, 0);
    for (let index = 0; index < list.length; index += 1) {
      this.#module.pushText(this.#state, list[index] as string);
      lua.rawseti(this.#state, -2, index + 1);
    }
    lua.rawset(this.#state, GLOBALS);
  }

  #popText(): string {
    const text = this.#module.textAt(this.#state, -1);
    this.#module.pop(this.#state);
    return text;
  }
}

function utf8(bytes: string): Buffer {
  return Buffer.from(bytes, 'latin1');
}

function sha1(bytes: string): string {
  return createHash('sha1').update(utf8(bytes)).digest('hex');
}
