import type { Redis } from 'ioredis';
import type { Acknowledged } from '../domain/durability.ts';
import type { Barrier } from './barrier.ts';
import { bindErase, eraseScript } from './erase.ts';
import { beginForkScript, endForkScript } from './forks.ts';
import type { Keyspace } from './keys.ts';
import { appendScript } from './log.ts';
import type { Store } from './open-store.ts';
import { requestPassScript } from './passes.ts';
import { decideProposalScript } from './proposals.ts';
import { bindRestoreIndex } from './restore-index.ts';
import type { ScriptDefinition } from './script.ts';
import { answerTurnScript } from './turn-answers.ts';
import { acceptTurnScript, cancelTurnScript } from './turn-intake.ts';
import { replaceVersionScript } from './versions.ts';

/**
 * Wraps the store so that the writes of services wait for replicas or disks (the durability barrier). A reply reports a
 * write as done only once it is as durable as configured. Otherwise the reply says that the write is unsure. A repeated
 * call whose write was done before waits as well. Replies that wrote nothing do not wait.
 * These run without waiting:
 * - Writes of workers. After a failover they are recomputed from the accepted input.
 * - Reads. They report the state of the master.
 * - Batches of a fork. Waiting after the last write of the call is enough, because replication keeps the order. But every
 *   erase batch waits for replicas: if a failover lost an early batch, the last one could not repeat it.
 */
export function guardStore(store: Store, redis: Redis, barrier: Barrier, keyspace: Keyspace): Store {
  const guard = <Input extends readonly unknown[], Reply extends { readonly status: string }>(
    script: ScriptDefinition<Input, Reply>,
    ...done: readonly Reply['status'][]
  ): ((...input: Input) => Promise<Acknowledged<Reply>>) =>
    barrier.bind(script, keyspace, ({ status }) => done.includes(status));
  const requestPass = guard(requestPassScript, 'requested', 'joined');
  return {
    ...store,
    accept: guard(acceptTurnScript, 'accepted', 'known'),
    append: guard(appendScript, 'appended', 'known'),
    answerTurn: guard(answerTurnScript, 'answered', 'still_waiting'),
    cancel: guard(cancelTurnScript, 'canceled', 'settled'),
    replaceVersion: guard(replaceVersionScript, 'replaced', 'known'),
    beginFork: guard(beginForkScript, 'done'),
    endFork: guard(endForkScript, 'done'),
    decideProposal: guard(decideProposalScript, 'decided', 'concluded'),
    // Only evaluations of workers request a pass without reasons, so that request does not wait.
    requestPass: (request) => (request.reasons.length === 0 ? store.requestPass(request) : requestPass(request)),
    erase: bindErase(
      barrier.bind(eraseScript, keyspace, () => true),
      bindRestoreIndex(redis, keyspace),
    ),
  };
}
