import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { TurnLease } from '../../../src/domain/lease.ts';
import { TURN_LIMITS } from '../../../src/domain/turn.ts';
import type { ClaimedPass, PassLease } from '../../../src/store/pass-record.ts';
import type { ClaimedTurn } from '../../../src/store/turn-record.ts';
import { claimPass, makeConversation } from '../pass-samples.ts';
import { acceptAndClaim, claimHead, newConversation } from '../samples.ts';
import type { StoreHarness } from '../store-harness.ts';

type Start = StoreHarness & { readonly conversation: ConversationRef };

/** Prepares the states from which the contract tests start, each together with the store under test. */
export class Given {
  readonly harness: () => StoreHarness;

  constructor(harness: () => StoreHarness) {
    this.harness = harness;
  }

  /** A conversation that does not exist yet. */
  nothing(): Start {
    return { ...this.harness(), conversation: newConversation() };
  }

  /** A new conversation whose turn `t1` is claimed. */
  async running(): Promise<Start & { readonly lease: TurnLease; readonly claimed: ClaimedTurn }> {
    const start = this.nothing();
    const claimed = await acceptAndClaim(start.store, start.conversation, 't1');
    return { ...start, claimed, lease: claimed.lease };
  }

  /** A conversation with a log of 8 messages. */
  async log(): Promise<Start> {
    const harness = this.harness();
    return { ...harness, conversation: await makeConversation(harness.store) };
  }

  /** A conversation with a log of 8 messages, whose pass is claimed. */
  async pass(): Promise<Start & { readonly lease: PassLease; readonly claimed: ClaimedPass }> {
    const start = await this.log();
    const claimed = await claimPass(start.store, start.conversation);
    return { ...start, claimed, lease: claimed.lease };
  }

  /** Claims the head turn again and again, until its last owner died alone. The next claim settles the turn as poison. */
  async killOwners(conversation: ConversationRef): Promise<void> {
    const { store, lapseLease } = this.harness();
    await lapseLease('turn', conversation);
    for (let attempts = 0; attempts < TURN_LIMITS.maxAttempts; ) {
      const { lease, attempt } = await claimHead(store, conversation);
      attempts = attempt;
      await store.startAlone(lease);
      await lapseLease('turn', conversation);
    }
  }
}
