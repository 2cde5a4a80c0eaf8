import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { TextDelta, TextListener, TextListening, TextPublisher } from '../../src/domain/ports/text-deltas.ts';
import { Subscriber } from '../../src/store/subscriber.ts';
import { openTextListener, openTextPublisher } from '../../src/store/text-deltas.ts';
import { MemoryTextChannel } from '../fakes/store/text-channel.ts';
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

const newConversation = (): ConversationRef => ({ tenant: '_', id: randomUUID() });

function delta(piece: string, offset = 0): TextDelta {
  return { turn: 't1', step: 1, epoch: 1_700_000_000_001, offset, piece };
}

/** Listens, and is heard from the next publish on. */
async function hearFrom(
  from: TextListener,
  conversation: ConversationRef,
): Promise<TextListening & { heard: TextDelta[] }> {
  const heard: TextDelta[] = [];
  const listening = from.listen(conversation, (told) => heard.push(told));
  await listening.catchUp();
  return { ...listening, heard };
}

describe.each<[string, TextPublisher, TextListener]>([
  ['memory', memory, memory],
  ['Redis', publisher, listener],
])('text deltas in %s', (_, texts, from) => {
  test('are heard as they were told, in order, by all who listen to their conversation', async () => {
    const [one, other] = [newConversation(), newConversation()];
    const [first, second, elsewhere] = [
      await hearFrom(from, one),
      await hearFrom(from, one),
      await hearFrom(from, other),
    ];
    const told = ['Grüße, ', '\ud83d', '\ude00 "x"\n', ' '.repeat(10_000)].map((piece, index) => delta(piece, index));
    for (const piece of told) await texts.publishText(one, piece);
    await first.catchUp();
    expect(first.heard).toEqual(told);
    expect(second.heard).toEqual(told);
    expect(elsewhere.heard).toEqual([]);
  });

  test('are told to nobody without complaint, and not kept for later', async () => {
    const conversation = newConversation();
    await texts.publishText(conversation, delta('early'));
    const late = await hearFrom(from, conversation);
    await texts.publishText(conversation, delta('late'));
    await late.catchUp();
    expect(late.heard).toEqual([delta('late')]);
  });

  test('are heard by those who stay when another leaves, and by no one who left', async () => {
    const conversation = newConversation();
    const [gone, here] = [await hearFrom(from, conversation), await hearFrom(from, conversation)];
    gone.stop();
    gone.stop();
    await texts.publishText(conversation, delta('x'));
    await here.catchUp();
    expect([gone.heard, here.heard]).toEqual([[], [delta('x')]]);
    here.stop();
    const again = await hearFrom(from, conversation);
    await texts.publishText(conversation, delta('y'));
    await again.catchUp();
    expect([here.heard, again.heard]).toEqual([[delta('x')], [delta('y')]]);
  });
});

test('channels lie in the conversation’s slot and are left with their last listener', async () => {
  const conversation = newConversation();
  const channels = (): Promise<unknown> => redis.pubsub('CHANNELS', `*${conversation.id}*`);
  const listenings = await Promise.all(Array.from({ length: 20 }, () => hearFrom(listener, conversation)));
  expect(await channels()).toEqual([
    `{tf${keyspace.shardOf(conversation)}}:_:text:${conversation.id}:${redis.options.db ?? 0}`,
  ]);
  for (const listening of listenings) listening.stop();
  await subscriber.catchUp();
  expect(await channels()).toEqual([]);
});

test('a conversation of the same name in another database of the server is another one', async () => {
  const conversation = newConversation();
  const here = await hearFrom(listener, conversation);
  await openTextPublisher(otherDatabase, keyspace).publishText(conversation, delta('there'));
  await here.catchUp();
  expect(here.heard).toEqual([]);
});

test('what cannot be read is passed over', async () => {
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
