import type { Redis } from 'ioredis';
import { DEFAULT_PREFIX, hashTag, type NamespaceRules, rulesOf } from '../../domain/namespace.ts';
import { refusalError } from './errors.ts';

const [KEY, CHANNEL] = ['$key', '$channel'];

/**
 * One sample call for every Redis command that workers need, be it directly, in a script or through BullMQ. A test
 * compares this list with all scripts. INFO, CLIENT LIST and CONFIG are missing here: managed servers hide them, and
 * workers run without them.
 */
const COMMANDS: readonly (readonly string[])[] = [
  'ping / time / client setname x / evalsha x 1 $key / multi / exec / publish $channel x / subscribe $channel',
  'unsubscribe $channel / exists $key / type $key / del $key / unlink $key / persist $key / pexpire $key 1',
  'pexpireat $key 1 / pttl $key / get $key / mget $key / set $key x / incr $key / incrby $key 1',
  'hget $key x / hmget $key x / hgetall $key / hkeys $key / hlen $key / hexists $key x',
  'hset $key x x / hsetnx $key x x / hmset $key x x / hincrby $key x 1 / hdel $key x / hstrlen $key x',
  'hrandfield $key 1 / copy $key $key',
  'hscan $key 0 / llen $key / lindex $key 0 / lrange $key 0 0 / lpos $key x / lpop $key',
  'rpop $key / lpush $key x / rpush $key x / lrem $key 1 x / lset $key 0 x / linsert $key before x y',
  'ltrim $key 0 0 / rpoplpush $key $key / sadd $key x / srem $key x / scard $key / sismember $key x',
  'smembers $key / spop $key / srandmember $key / zadd $key 1 x / zrem $key x / zscore $key x',
  'zrank $key x / zcard $key / zcount $key 0 1 / zlexcount $key - + / zrange $key 0 0 / zrevrange $key 0 0',
  'zrangebyscore $key 0 1 / zrevrangebyscore $key 1 0 / zrangebylex $key - + / zremrangebyscore $key 0 1',
  'zremrangebyrank $key 0 1 / zpopmin $key / bzpopmin $key 1 / xadd $key * x x / xlen $key',
  'xrange $key - + / xrevrange $key + - / xread STREAMS $key 0 / xtrim $key MAXLEN 1 / xdel $key 0-1',
]
  .flatMap((line) => line.split(' / '))
  .map((call) => call.split(' '));

export const NEEDED_COMMANDS: ReadonlySet<string> = new Set(COMMANDS.map(([name = '']) => name.toUpperCase()));

/** Asks Redis 7.0 or later which of the given commands the current user may not run, and runs none of them. */
const TEST_SCRIPT = [
  '#!lua flags=no-writes',
  'local refused = {}',
  'for at, call in ipairs(cjson.decode(ARGV[1])) do',
  '  local is_known, is_allowed = pcall(redis.acl_check_cmd, unpack(call))',
  '  if is_known and not is_allowed then refused[#refused + 1] = at - 1 end',
  'end',
  'return refused',
].join('\n');

/**
 * Checks the permissions of the Redis user, because a missing permission would stop a turn halfway.
 * @throws redis_denied with the missing ACL rules. redis_unavailable if Redis does not answer.
 */
export async function checkAccess(redis: Redis, prefix = DEFAULT_PREFIX): Promise<void> {
  const needed = rulesOf(prefix);
  const channel = sampleOf(prefix, 'tf');
  const roots = ROOTS.map((root) => ({ key: sampleOf(prefix, root), rule: needed.keys[root] }));
  const tested = COMMANDS.flatMap((call) =>
    call.includes(KEY)
      ? roots.map(({ key, rule }) => ({ call: fill(call, KEY, key), rule }))
      : [{ call: fill(call, CHANNEL, channel), rule: '' }],
  );
  const answer = (await redis.call('eval', [
    TEST_SCRIPT,
    0,
    JSON.stringify(tested.map(({ call }) => call)),
  ])) as number[];
  const refused = answer.flatMap((index) => tested[index] ?? []);
  if (refused.length === 0) return;
  const rules = nameRules(refused, tested, needed);
  throw refusalError(
    {
      message: `the ACL of our user lacks rules that a worker needs (NOPERM): ${rules.join(' ')} ${rules.length === 1 ? 'is' : 'are'} missing`,
      hint: `Add: ACL SETUSER <user> ${rules.join(' ')}. docs/how-to/secure-redis.md lists all rules that turnfold needs.`,
    },
    undefined,
    'redis_denied',
  );
}

interface Tested {
  readonly call: readonly string[];
  readonly rule: string;
}

/**
 * Lists one ACL rule per refused command. If every command on a key prefix is refused, lists the rule for that prefix
 * instead.
 */
function nameRules(refused: readonly Tested[], tested: readonly Tested[], needed: NamespaceRules): string[] {
  const keys = Object.values(needed.keys).filter((rule) => countOf(refused, rule) === countOf(tested, rule));
  const commands = refused
    .filter(({ rule }) => !keys.some((key) => key === rule))
    .map(({ call }) => nameRule(call, needed.channels));
  return [...new Set([...keys, ...commands.flat()])];
}

function nameRule([name = '', subcommand = '']: readonly string[], channels: string): string[] {
  if (name === 'client') return [`+client|${subcommand}`];
  return name.endsWith('publish') || name.endsWith('subscribe') ? [`+${name}`, channels] : [`+${name}`];
}

function countOf(list: readonly Tested[], rule: string): number {
  return list.filter((one) => one.rule === rule).length;
}

function fill(call: readonly string[], placeholder: string, name: string): string[] {
  return call.map((part) => (part === placeholder ? name : part));
}

const ROOTS = ['tf', 'tq'] as const;

function sampleOf(prefix: string, root: (typeof ROOTS)[number]): string {
  return `${hashTag(prefix, root, 0)}:x`;
}
