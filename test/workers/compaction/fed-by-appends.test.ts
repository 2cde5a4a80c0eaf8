import { describe, expect, it } from 'vitest';
import type { PolicyInput } from '../../../src/domain/policy.ts';
import { contextSize } from '../../../src/domain/size.ts';
import { createMemoryClient } from '../../client/memory-client.ts';
import { Fixture, ref, words } from './fixture.ts';

const MESSAGE_TOKENS = 100;
/**
 * `minSequenceTokens`: tokens by which the context must grow after a compaction pass that found nothing to remove,
 * before the next pass.
 */
const STEP_TOKENS = 256;
/** The usable window is 10,000 tokens, so `ratio` applies from 8,500 and `hard_limit` from 9,200. */
const PROFILE = { windowTokens: 10_500, outputCapTokens: 500, upperBoundFactor: 1 };

/** A conversation without turns, to which a client appends all messages. */
class Fed {
  readonly world: Fixture;
  readonly #client: ReturnType<typeof createMemoryClient>;
  #appended = 0;

  constructor(world: Fixture) {
    this.world = world;
    this.#client = createMemoryClient(world.store);
  }

  static async open(policy: PolicyInput): Promise<Fed> {
    const set = { tokenThreshold: undefined, maxTokens: 5_000, ...policy };
    return new Fed(await Fixture.open({ profile: PROFILE, policy: set }));
  }

  /** Appends one message. @returns the size of the next request if a compaction pass was requested */
  async append(): Promise<number | undefined> {
    const role = this.#appended % 2 === 0 ? 'user' : 'assistant';
    this.#appended += 1;
    const content = words(MESSAGE_TOKENS - 4);
    await this.#client.append({ conversation: 'talk', agent: 'guide', messages: [{ role, content }] });
    return (await this.#client.describe('talk')).passId === undefined ? undefined : await this.readTokens();
  }

  async readTokens(): Promise<number> {
    const conversation = await this.world.store.readConversation(ref);
    return conversation === undefined ? 0 : contextSize(conversation.size, this.world.agent.overhead).tokens;
  }

  async runPass(): Promise<void> {
    await this.world.runPass(this.world.nextId());
  }
}

describe.each([0, 2_000, 4_000])('a conversation of appended messages, with %d tokens of pinned texts', (pinned) => {
  const policy: PolicyInput = pinned === 0 ? {} : { pins: [words(pinned)] };

  it(`with ${pinned} tokens of pinned texts, appended messages request a compaction pass soon after the threshold, without a check of each message`, async () => {
    const fed = await Fed.open(policy);
    const looks: number[] = [];
    for (let message = 0; message < 130; message += 1) {
      const tokens = await fed.append();
      if (tokens !== undefined) {
        looks.push(tokens);
        await fed.runPass();
      }
    }
    const committed = fed.world.eventsOf('pass_ended').filter(({ outcome }) => outcome === 'committed');
    expect(committed.length).toBeGreaterThan(0);
    expect(Math.max(...looks)).toBeLessThan(8_500 + STEP_TOKENS + MESSAGE_TOKENS);
    // Three messages are one step of growth. The first message after a new context version is always evaluated.
    expect(looks.length).toBeLessThanOrEqual(130 / 3 + 1 + committed.length);
  });

  it(`with ${pinned} tokens of pinned texts, appended messages request a compaction pass at the hard limit in spite of any backoff`, async () => {
    const fed = await Fed.open({ ...policy, thresholdRatio: 0.92 });
    while ((await fed.readTokens()) < 7_000) if ((await fed.append()) !== undefined) await fed.runPass();
    // A backoff, as it is after three passes without gain.
    await fed.world.leaveBackoff({ nothingBelowTokens: 0, gainlessPasses: 3, noGainBelowTokens: 9_900 });
    const looks: number[] = [];
    while ((await fed.world.readVersion()) === undefined && (await fed.readTokens()) < 9_900) {
      const tokens = await fed.append();
      if (tokens !== undefined) {
        looks.push(tokens);
        await fed.runPass();
      }
    }
    expect(looks).toHaveLength(2);
    expect(looks[1]).toBeGreaterThanOrEqual(9_200);
    expect(looks[1]).toBeLessThan(9_200 + MESSAGE_TOKENS);
    expect(fed.world.eventsOf('pass_ended').at(-1)).toMatchObject({
      outcome: 'committed',
      reasons: expect.arrayContaining(['hard_limit']),
    });
  });
});
