import type { ConversationRef } from '../domain/ids.ts';
import type { Store } from '../domain/ports/store.ts';
import type { Barrier, GuardedScript } from './barrier.ts';
import { bindErase, eraseBatch } from './contexts.ts';
import type { Keyspace } from './keys.ts';
import { appendLog } from './log.ts';
import { requestPassScript } from './passes.ts';
import { decideProposal } from './proposals.ts';
import type { ScriptDefinition } from './script.ts';
import { acceptTurnScript, answerTurnScript, cancelTurnScript } from './turn-intake.ts';
import { beginFork, endFork, replaceVersion } from './versions.ts';

interface OfConversation {
  readonly conversation: ConversationRef;
}

/**
 * Puts the writes of services behind the barrier. A reply says that a write is done only once it is as durable as configured.
 * Otherwise the reply says that the write is unsure. A repeated call that finds its write done waits too. Replies that wrote
 * nothing do not wait. These run without the barrier:
 *
 * - Writes of workers. After a failover they are recomputed from the accepted input.
 * - Reads, which report the state of the master.
 * - Batches of a fork. The last write of a call is enough, because replication keeps the order. But every erase batch waits for
 *   replicas: if a failover lost an early batch, the last one could not repeat it.
 */
export function guardStore(store: Store, barrier: Barrier, keyspace: Keyspace): Store {
  const guard = <Input extends OfConversation, Reply extends { readonly status: string }>(
    script: (keyspace: Keyspace) => ScriptDefinition<Input, Reply>,
    ...done: readonly Reply['status'][]
  ): GuardedScript<Input, Reply> =>
    barrier.bind(script(keyspace), {
      markOf: ({ conversation }) => keyspace.barrier(conversation),
      tellsOfDone: ({ status }) => done.includes(status),
    });
  const cancel = guard(cancelTurnScript, 'canceled', 'settled');
  const end = guard(endFork, 'done');
  const request = guard(requestPassScript, 'requested', 'joined');
  const erase = barrier.bind(eraseBatch(keyspace), {
    markOf: ({ conversation }) => keyspace.barrier(conversation),
    tellsOfDone: () => true,
  });
  return {
    ...store,
    accept: guard(acceptTurnScript, 'accepted', 'known'),
    append: guard(appendLog, 'appended', 'known'),
    answerTurn: guard(answerTurnScript, 'answered', 'still_waiting'),
    cancel: (conversation, turn, wake) => cancel({ conversation, turn, wake }),
    replaceVersion: guard(replaceVersion, 'replaced', 'known'),
    beginFork: guard(beginFork, 'done'),
    endFork: (conversation, operation, version) => end({ conversation, operation, version }),
    decideProposal: guard(decideProposal, 'decided', 'concluded'),
    // A request without reasons comes from an evaluation, not from a service.
    requestPass: (asked) => (asked.reasons.length === 0 ? store.requestPass(asked) : request(asked)),
    erase: bindErase(erase),
  };
}
