import { describe, expect, test } from 'vitest';
import { explainPlan } from '../../src/compaction/explain.ts';
import { completePolicy, type PolicyInput } from '../../src/domain/policy.ts';
import { lettersOf, logOf } from './alphabet.ts';
import { maskPlan, weighText } from './passes.ts';

/** A policy that limits the number of messages, as earlier systems do. */
function limit(messages: number): PolicyInput {
  return { messageThreshold: messages, strategy: { retain: messages - 1 }, retentionWindow: 0 };
}

function evict(share: number): PolicyInput {
  return { messageThreshold: 1, strategy: { evict: share }, retentionWindow: 0 };
}

const unkept = { keepFirstUser: false };

interface Row {
  readonly name: string;
  readonly line: string;
  readonly policy: PolicyInput;
  /** The line with `.` for each evicted message. */
  readonly left: string;
}

const rows: readonly Row[] = [
  { name: 'the system prompt stays', line: 'suauau', policy: { ...limit(5), ...unkept }, left: 's..uau' },
  { name: 'the system prompt and the first user message stay', line: 'suauau', policy: limit(5), left: 'su..au' },
  {
    name: 'the eviction continues past the first user message',
    line: 's(ua)x14',
    policy: { ...limit(10), ...unkept },
    left: `s${'.'.repeat(20)}uauauaua`,
  },
  {
    name: 'the eviction continues around a first user message that must stay',
    line: 's(ua)x14',
    policy: limit(10),
    left: `su${'.'.repeat(20)}auauaua`,
  },
  { name: 'the context does not begin with a tool call', line: 'satrtrtrua', policy: limit(5), left: 's.......ua' },
  {
    name: 'a whole tool round before the user message may be evicted',
    line: 'trutra',
    policy: limit(5),
    left: '..utra',
  },
  {
    name: 'user messages may be evicted, except the last one and a first one that must stay',
    line: 'suuuu',
    policy: evict(0.8),
    left: 'su..u',
  },
  {
    name: 'the first user message may go if the policy does not keep it',
    line: 'suuuu',
    policy: { ...evict(0.8), ...unkept },
    left: 's...u',
  },
  { name: 'system and the only user message stay', line: 'su', policy: { ...evict(0.8), ...unkept }, left: 'su' },
  {
    name: 'a tool round that starts before the retention window stays whole',
    line: 'sutr',
    policy: { messageThreshold: 1, strategy: { retain: 1 }, retentionWindow: 1 },
    left: 'sutr',
  },
  {
    name: 'a call and its result seven messages later are evicted together',
    line: 'sutuuuuuura',
    policy: evict(0.5),
    left: 'su...uuuu.a',
  },
  {
    name: 'parallel calls and all their results are evicted together, with other messages in between',
    line: 's u t{1,2} u r1 u r2 a u a',
    policy: evict(0.3),
    left: 'su.u.u.aua',
  },
  {
    name: 'an eviction of 30 % removes one of two interleaved tool rounds',
    line: 's u t1 t2 u r1 r2 a a',
    policy: evict(0.3),
    left: 'su.tu.raa',
  },
  {
    name: 'an eviction of 50 % removes both interleaved tool rounds',
    line: 's u t1 t2 u r1 r2 a a',
    policy: evict(0.5),
    left: 'su..u..aa',
  },
  {
    name: 'the share counts tokens, not messages',
    line: 'su a:90000 (ua)x10',
    policy: evict(0.6),
    left: `su.${'ua'.repeat(10)}`,
  },
  {
    name: 'the share is the part that is removed, not the part that stays',
    line: 's(ua)x10',
    policy: { ...evict(0.2), ...unkept },
    left: `s....${'ua'.repeat(8)}`,
  },
];

describe('window eviction: what earlier systems got wrong', () => {
  test.each(rows)('$name: an eviction turns the history $line into $left', ({ line, policy, left }) => {
    const { plan } = explainPlan(logOf(line), completePolicy(policy), weighText);
    expect(maskPlan(line, plan)).toBe(left);
    expect(plan.kind).toBe(left === lettersOf(line) ? 'none' : 'evict');
  });

  test.each<{ name: string; policy: PolicyInput }>([
    { name: 'onTurnEnd', policy: { onTurnEnd: true } },
    { name: 'turnThreshold', policy: { turnThreshold: 3 } },
  ])('compaction for $name alone evicts once by its strategy and does not try to reach maxTokens', ({ policy }) => {
    const line = 's(ua)x10';
    const given = { retentionWindow: 2, strategy: { retain: 15 }, maxTokens: 50, ...policy };
    const { plan } = explainPlan(logOf(line), completePolicy(given), weighText);
    expect(maskPlan(line, plan)).toBe(`su......a${'ua'.repeat(6)}`);
    expect(plan.explained).toStrictEqual(['no_token_reason']);
  });
});
