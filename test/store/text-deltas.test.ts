import { afterAll, expect, test } from 'vitest';
import { MemoryTextChannel } from '../../src/memory-store/text-channel.ts';
import { Subscriber } from '../../src/redis/subscriber.ts';
import { openTextListener, openTextPublisher } from '../../src/store/text-deltas.ts';
import { delta, describeTextDeltas, hearFrom, newConversation } from './contract/text-deltas.ts';
import { openSuiteRedis } from './open-redis.ts';

const { redis, keyspace, close } = openSuiteRedis();
const otherDatabase = redis.duplicate({ db: 3 });
const subscriber = new Subscriber(redis);
afterAll(async () => {
  subscriber.close();
  otherDatabase.disconnect();
  await close();
});

const memory = new MemoryTextChannel();
const listener = openTextListener(redis, keyspace, subscriber);
const publisher = openTextPublisher(redis, keyspace);

describeTextDeltas('memory', () => ({ publisher: memory, listener: memory }));
describeTextDeltas('Redis', () => ({ publisher, listener }));

test('the channel for streamed text is in its conversation’s hash slot, and the client unsubscribes when the last listener stops', async () => {
  const conversation = newConversation();
  const channels = (): Promise<unknown> => redis.pubsub('CHANNELS', `*${conversation.id}*`);
  const listenings = await Promise.all(Array.from({ length: 20 }, () => hearFrom(listener, conversation)));
  expect(await channels()).toEqual([
    `{tf${keyspace.shardOf(conversation)}}:_:text:${conversation.id}:${redis.options.db ?? 0}`,
  ]);
  for (const listening of listenings) listening.stop();
  await listenings[0]?.catchUp();
  expect(await channels()).toEqual([]);
});

test('a listener gets no streamed text of a conversation with the same id in another Redis database', async () => {
  const conversation = newConversation();
  const here = await hearFrom(listener, conversation);
  await openTextPublisher(otherDatabase, keyspace).publishText(conversation, delta('there'));
  await here.catchUp();
  expect(here.heard).toEqual([]);
});

test('a listener skips pieces of streamed text that it cannot decode', async () => {
  const conversation = newConversation();
  const here = await hearFrom(listener, conversation);
  const [channel] = (await redis.pubsub('CHANNELS', `*${conversation.id}*`)) as string[];
  for (const text of ['', 'no JSON', '[]', JSON.stringify({ ...delta('x'), step: 0 })]) {
    await redis.publish(channel ?? '', text);
  }
  await redis.publish(channel ?? '', JSON.stringify({ ...delta('y'), later: true }));
  await here.catchUp();
  expect(here.heard).toEqual([delta('y')]);
});
