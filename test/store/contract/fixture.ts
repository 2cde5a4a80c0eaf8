import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { ClaimedPass, PassLease } from '../../../src/domain/ports/pass-store.ts';
import type { ClaimedTurn, TurnLease } from '../../../src/domain/ports/turn-store.ts';
import { claimPass, makeConversation } from '../pass-samples.ts';
import { acceptAndClaim, newConversation } from '../samples.ts';
import type { StoreHarness } from '../store-harness.ts';

type Start = StoreHarness & { readonly conversation: ConversationRef };

/** States from which the tests of the contracts start, each with the harness of the store. */
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
}
