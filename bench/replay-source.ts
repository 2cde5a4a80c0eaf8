import { openDatabase } from '../src/store/database.ts';
import { openStore } from '../src/store/open-store.ts';
import { openConnection } from '../src/store/redis/connection.ts';
import { acceptAndClaim, newConversation, textStep } from '../test/store/samples.ts';
import { sampleSize } from './sample-size.ts';
import { type Spread, spreadOf } from './spread.ts';

const SHARDS = 256;
const REPLAYS = sampleSize(30, 3);
const TURN = 't1';
const TEXT = 'word '.repeat(12_800);
/** Characters of one batch: what a model of 100 tokens/s writes in 50 ms. */
const BATCH_CHARACTERS = 20;

/** A turn in progress, whose 64,000 characters are in the stream. No worker must use the same Redis. */
interface ReplaySource {
  readonly conversation: string;
  readonly turn: string;
  readonly characters: number;
  /** Completes the turn, so that readers get the text from the log. */
  settle(): Promise<void>;
  close(): void;
}

export async function writeReplaySource(redisUrl: string): Promise<ReplaySource> {
  const redis = openConnection({ url: redisUrl });
  const { keyspace } = await openDatabase(redis, { shards: SHARDS });
  const store = openStore(redis, keyspace);
  const conversation = newConversation();
  const { lease } = await acceptAndClaim(store, conversation, TURN);
  await store.followTurn(conversation, TURN);
  for (let at = 0; at < TEXT.length; at += BATCH_CHARACTERS) {
    const piece = { kind: 'text', at, text: TEXT.slice(at, at + BATCH_CHARACTERS) } as const;
    await store.appendPieces(lease, { seq: 2, step: 1, epoch: lease.epoch, attempt: 1, pieces: [piece] });
  }
  return {
    conversation: conversation.id,
    turn: TURN,
    characters: TEXT.length,
    async settle() {
      await store.recordStep(lease, textStep('model-1', 1, TEXT));
      await store.settle(lease, { state: 'completed', answerSeq: 2 }, 'wake');
    },
    close: () => redis.disconnect(),
  };
}

/** @returns ms of a replay */
export async function timeReplays(replay: () => Promise<void>): Promise<Spread> {
  const took: number[] = [];
  for (let count = 0; count < REPLAYS; count += 1) {
    const startedAt = performance.now();
    await replay();
    took.push(performance.now() - startedAt);
  }
  return spreadOf(took);
}
