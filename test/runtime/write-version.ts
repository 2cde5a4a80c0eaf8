import { addWeights, type LogEntry, NO_WEIGHT, type Weight } from '../../src/domain/message.ts';
import { type Segment, type SeqRange, START_VERSION, type Version } from '../../src/domain/version.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { type Fixture, SHARDS } from './fixture.ts';

/** Writes version 1 without scripts and fences: the whole log except one range in the middle. */
export async function writeVersion(fixture: Fixture, conversation: string, evicted: SeqRange): Promise<void> {
  const log = await fixture.client.log(conversation);
  const { length: base } = log;
  const segments: Segment[] = [
    rawSegment(log, { from: 1, to: evicted.from - 1 }),
    { kind: 'evicted', ...evicted, weight: NO_WEIGHT },
    rawSegment(log, { from: evicted.to + 1, to: base }),
  ];
  const weight = segments.reduce<Weight>((sum, segment) => addWeights(sum, segment.weight), NO_WEIGHT);
  const baseTotal = log.at(-1)?.total ?? NO_WEIGHT;
  const version: Version = {
    ...START_VERSION,
    number: 1,
    parent: 0,
    cause: 'restore',
    base,
    segments,
    weight,
    baseTotal,
  };
  const shape = [weight.tokens, weight.bytes, base, baseTotal.tokens, baseTotal.bytes].join(' ');
  const keyspace = new Keyspace(SHARDS);
  const ref = { tenant: '_', id: conversation };
  await fixture.redis
    .multi()
    .hset(keyspace.key(ref, 'ver'), '1', JSON.stringify(version))
    .hset(keyspace.key(ref, 'c'), { version: '1', shape })
    .exec();
}

function rawSegment(log: readonly LogEntry[], { from, to }: SeqRange): Segment {
  const entries = log.slice(from - 1, to);
  return { kind: 'raw', from, to, weight: entries.reduce<Weight>((sum, entry) => addWeights(sum, entry), NO_WEIGHT) };
}
