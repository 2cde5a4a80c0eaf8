import type { ConversationRef } from '../domain/ids.ts';
import type { ContextStore } from '../domain/ports/context-store.ts';
import type { TurnIntake } from '../domain/ports/turn-store.ts';
import type { Barrier } from './barrier.ts';
import { appendLog } from './contexts/append.ts';
import type { Keyspace } from './keys.ts';
import { acceptTurn } from './turns/accept.ts';

/** What may be lost only where its caller is told that it is unsure. A refusal wrote nothing: there is nothing to wait for. */
export function guardIntake(
  barrier: Barrier,
  keyspace: Keyspace,
): Pick<TurnIntake, 'accept'> & Pick<ContextStore, 'append'> {
  const markOf = ({ conversation }: { readonly conversation: ConversationRef }): string =>
    keyspace.barrier(conversation);
  return {
    accept: barrier.bind(acceptTurn(keyspace), markOf, ({ status }) => status === 'accepted' || status === 'known'),
    append: barrier.bind(appendLog(keyspace), markOf, ({ status }) => status === 'appended' || status === 'known'),
  };
}
