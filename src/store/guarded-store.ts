import type { ConversationRef } from '../domain/ids.ts';
import type { Barrier, GuardedScript } from './barrier.ts';
import { appendLog } from './contexts/append.ts';
import { bindErase, eraseBatch } from './contexts/erase.ts';
import type { Keyspace } from './keys.ts';
import type { Store } from './open-store.ts';
import { requestPassScript } from './passes/request.ts';
import { decideProposal } from './proposals/decide.ts';
import type { ScriptDefinition } from './script.ts';
import { acceptTurnScript } from './turns/accept.ts';
import { cancelTurnScript } from './turns/cancel.ts';
import { resumeTurn } from './turns/resume.ts';
import { beginFork } from './versions/begin-fork.ts';
import { endFork } from './versions/end-fork.ts';
import { replaceVersion } from './versions/replace.ts';

interface OfConversation {
  readonly conversation: ConversationRef;
}

/**
 * The rule: **whoever asked for a write is told that it is done once it is held as the durability says, or is told that it is
 * unsure.** So behind the barrier stands each script that writes what a service asks for, with the answers that say so, also
 * to the same call made again; the others wrote nothing, and wait for nothing. It does not hold
 *
 * - what workers write. A step, a settlement or a version that is lost with a master is made again, from what is held here;
 * - reads, which tell what the master has;
 * - batches of a fork: of one call's writes the last is enough, for what comes later in a stream of replication has all
 *   before it. Of an erase it is each, for the last would find nothing left to remove where a failover lost the first.
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
    answerTurn: guard(resumeTurn, 'answered', 'still_waiting'),
    cancel: (conversation, turn, wake) => cancel({ conversation, turn, wake }),
    replaceVersion: guard(replaceVersion, 'replaced', 'known'),
    beginFork: guard(beginFork, 'done'),
    endFork: (conversation, operation, version) => end({ conversation, operation, version }),
    decideProposal: guard(decideProposal, 'decided', 'concluded'),
    // Without a reason of its own it is a look that nobody has asked for.
    requestPass: (asked) => (asked.reasons.length === 0 ? store.requestPass(asked) : request(asked)),
    erase: bindErase(erase),
  };
}
