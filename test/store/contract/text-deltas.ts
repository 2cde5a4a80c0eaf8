import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { TextDelta, TextListener, TextListening, TextPublisher } from '../../../src/domain/ports/text-deltas.ts';

export const newConversation = (): ConversationRef => ({ tenant: '_', id: randomUUID() });

export function delta(piece: string, offset = 0): TextDelta {
  return { turn: 't1', step: 1, epoch: 1_700_000_000_001, offset, piece };
}

/** Starts to listen for streamed text, and resolves once the next published text will be received. */
export async function hearFrom(
  from: TextListener,
  conversation: ConversationRef,
): Promise<TextListening & { heard: TextDelta[] }> {
  const heard: TextDelta[] = [];
  const listening = from.listen(conversation, (told) => heard.push(told));
  await listening.catchUp();
  return { ...listening, heard };
}

export interface TextHarness {
  readonly publisher: TextPublisher;
  readonly listener: TextListener;
}

/** Contract tests of a publisher and a listener of streamed text. */
export function describeTextDeltas(name: string, open: () => TextHarness): void {
  describe(`text deltas in ${name}`, () => {
    let texts: TextPublisher;
    let from: TextListener;
    beforeAll(() => {
      ({ publisher: texts, listener: from } = open());
    });

    test('pieces of streamed text reach all listeners of their conversation, in order and unchanged', async () => {
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

    test('pieces of streamed text are dropped while they have no listener', async () => {
      const conversation = newConversation();
      await texts.publishText(conversation, delta('early'));
      // In a Cluster the text may still be in flight, and this wait covers that.
      (await hearFrom(from, conversation)).stop();
      const late = await hearFrom(from, conversation);
      await texts.publishText(conversation, delta('late'));
      await late.catchUp();
      expect(late.heard).toEqual([delta('late')]);
    });

    test('pieces of streamed text still reach a conversation’s other listeners after one listener has left', async () => {
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

    test('pieces of streamed text arrive in the order in which they were published, even if the caller awaits no call', async () => {
      const conversation = newConversation();
      const here = await hearFrom(from, conversation);
      const told = Array.from({ length: 200 }, (_, index) => delta(`${index}`, index));
      await Promise.all(told.map((piece) => texts.publishText(conversation, piece)));
      await here.catchUp();
      expect(here.heard).toEqual(told);
    });
  });
}
