import type { Redis } from 'ioredis';
import { refusalError } from '../domain/redis-refusal.ts';

/** Stands for a key of turnfold in the commands below. */
const KEY = '$key';

/**
 * One call of each command that workers cannot do without, by themselves, in a script or through BullMQ. A test compares this list
 * with all scripts. INFO, CLIENT LIST and CONFIG are not here: managed servers hide them, and workers go on without.
 */
const COMMANDS: readonly (readonly string[])[] = [
  ...[['ping'], ['time'], ['client', 'setname', 'x'], ['evalsha', 'x', '1', KEY]],
  ...[['multi'], ['exec'], ['publish', '{tf0}:x', ''], ['subscribe', '{tf0}:x'], ['unsubscribe', '{tf0}:x']],
  ...[
    ['exists', KEY],
    ['type', KEY],
    ['del', KEY],
    ['unlink', KEY],
  ],
  ...[
    ['persist', KEY],
    ['pexpire', KEY, '1'],
    ['pexpireat', KEY, '1'],
    ['pttl', KEY],
  ],
  ...[
    ['get', KEY],
    ['mget', KEY],
    ['set', KEY, ''],
    ['incr', KEY],
    ['incrby', KEY, '1'],
  ],
  ...[
    ['hget', KEY, 'x'],
    ['hmget', KEY, 'x'],
    ['hgetall', KEY],
    ['hkeys', KEY],
    ['hlen', KEY],
    ['hexists', KEY, 'x'],
  ],
  ...[
    ['hset', KEY, 'x', ''],
    ['hsetnx', KEY, 'x', ''],
    ['hmset', KEY, 'x', ''],
    ['hincrby', KEY, 'x', '1'],
  ],
  ...[
    ['hdel', KEY, 'x'],
    ['hscan', KEY, '0'],
  ],
  ...[
    ['llen', KEY],
    ['lindex', KEY, '0'],
    ['lrange', KEY, '0', '0'],
    ['lpos', KEY, 'x'],
    ['lpop', KEY],
    ['rpop', KEY],
  ],
  ...[
    ['lpush', KEY, 'x'],
    ['rpush', KEY, 'x'],
    ['lrem', KEY, '1', 'x'],
    ['lset', KEY, '0', 'x'],
  ],
  ...[
    ['ltrim', KEY, '0', '0'],
    ['rpoplpush', KEY, KEY],
  ],
  ...[
    ['sadd', KEY, 'x'],
    ['srem', KEY, 'x'],
    ['scard', KEY],
    ['sismember', KEY, 'x'],
    ['smembers', KEY],
    ['spop', KEY],
  ],
  ...[['srandmember', KEY]],
  ...[
    ['zadd', KEY, '1', 'x'],
    ['zrem', KEY, 'x'],
    ['zscore', KEY, 'x'],
    ['zcard', KEY],
    ['zcount', KEY, '0', '1'],
  ],
  ...[
    ['zlexcount', KEY, '-', '+'],
    ['zrange', KEY, '0', '0'],
    ['zrevrange', KEY, '0', '0'],
  ],
  ...[
    ['zrangebyscore', KEY, '0', '1'],
    ['zrevrangebyscore', KEY, '1', '0'],
    ['zrangebylex', KEY, '-', '+'],
  ],
  ...[
    ['zremrangebyscore', KEY, '0', '1'],
    ['zremrangebyrank', KEY, '0', '1'],
    ['zpopmin', KEY],
    ['bzpopmin', KEY, '1'],
  ],
  ...[
    ['xadd', KEY, '*', 'x', ''],
    ['xlen', KEY],
    ['xrange', KEY, '-', '+'],
    ['xrevrange', KEY, '+', '-'],
  ],
  ...[
    ['xread', 'STREAMS', KEY, '0'],
    ['xtrim', KEY, 'MAXLEN', '1'],
    ['xdel', KEY, '0-1'],
  ],
];

/** Names of the commands that `checkAccess` asks for. */
export const NEEDED_COMMANDS: ReadonlySet<string> = new Set(COMMANDS.map(([name = '']) => name.toUpperCase()));

/** Redis 7.0 and later answer inside a script whether the user that calls it may run a command. Nothing is run. */
const ASK = `#!lua flags=no-writes
local refused = {}
for at, call in ipairs(cjson.decode(ARGV[1])) do
  -- Fails for a command that this server does not know.
  local is_known, is_allowed = pcall(redis.acl_check_cmd, unpack(call))
  if is_known and not is_allowed then refused[#refused + 1] = at - 1 end
end
return refused`;

/** A key of the store, and one of the queues. */
const ROOTS = [
  { key: '{tf0}:x', rule: '~{tf*' },
  { key: '{tq0}:x', rule: '~{tq*' },
] as const;

/**
 * Checks that the user of a connection may do all that a worker does: a command that is missing would stop one turn in the
 * middle, and the others for as long as the queue tries.
 * @throws redis_denied, with the rules that are missing; redis_unavailable
 */
export async function checkAccess(redis: Redis): Promise<void> {
  const asked = COMMANDS.flatMap((call) =>
    call.includes(KEY) ? ROOTS.map(({ key, rule }) => ({ call: fill(call, key), rule })) : [{ call, rule: '' }],
  );
  const answer = (await redis.call('eval', [ASK, 0, JSON.stringify(asked.map(({ call }) => call))])) as number[];
  const refused = answer.flatMap((index) => asked[index] ?? []);
  if (refused.length === 0) return;
  const rules = nameRules(refused, asked);
  throw refusalError(
    {
      message: `its ACL does not allow our user all that a worker does (NOPERM): ${rules.join(' ')} ${rules.length === 1 ? 'is' : 'are'} missing`,
      hint: `Add: ACL SETUSER <user> ${rules.join(' ')}. docs/operations.md lists all rules that turnfold needs.`,
    },
    undefined,
    'redis_denied',
  );
}

interface Asked {
  readonly call: readonly string[];
  readonly rule: string;
}

/** Where all commands are refused for the keys of one kind, the keys are; else the commands are. */
function nameRules(refused: readonly Asked[], asked: readonly Asked[]): string[] {
  const keys = ROOTS.map(({ rule }) => rule).filter((rule) => countOf(refused, rule) === countOf(asked, rule));
  const commands = refused.filter(({ rule }) => !keys.some((key) => key === rule)).map(({ call }) => nameRule(call));
  return [...new Set([...keys, ...commands.flat()])];
}

function nameRule([name = '', subcommand = '']: readonly string[]): string[] {
  if (name === 'client') return [`+client|${subcommand}`];
  return name.endsWith('publish') || name.endsWith('subscribe') ? [`+${name}`, '&{tf*'] : [`+${name}`];
}

function countOf(list: readonly Asked[], rule: string): number {
  return list.filter((asked) => asked.rule === rule).length;
}

function fill(call: readonly string[], key: string): string[] {
  return call.map((part) => (part === KEY ? key : part));
}
