import type { Acknowledged, Shortfall } from '../../domain/durability.ts';
import { fieldError, isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import { type ConversationRef, MAX_ID_CHARACTERS } from '../../domain/ids.ts';
import { clipText } from '../../domain/thrown.ts';
import type { TurnState } from '../../domain/turn.ts';
import type { Forking } from '../../store/conversation-record.ts';
import { isRefusal } from '../../store/redis/errors.ts';
import { adviseRepeat, nameWrite, type RepeatableWrite } from '../retries.ts';

/** Called after the wake job was added, because workers must process a stored write. @throws accepted_unsure */
export function checkDurability({ shortfall }: Acknowledged<unknown>, write: RepeatableWrite): void {
  const { field, id, others } = write;
  if (shortfall === undefined) return;
  const why =
    `${describeShortfall(shortfall)}. ${adviseRepeat(write)}. ` +
    'The repeated call changes nothing and returns once enough copies exist.';
  throw fieldError('accepted_unsure', field, `${id}: ${why}`, { details: { ...others, [field]: id, ...shortfall } });
}

/** Adds the id of the write to an error after which Redis may have done the write. The caller can then repeat it. */
export async function nameRepeatable<T>(named: RepeatableWrite, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isTurnfoldError(error, 'redis_unavailable') && !isRefusal(error) ? nameWrite(error, named) : error;
  }
}

export function describeShortfall({ wanted, reached }: Shortfall): string {
  if (reached === undefined) return 'the write succeeded, but Redis did not confirm its durability in time';
  const replicas = `the write succeeded, but ${reached.replicas} of ${wanted.replicas} replicas confirmed it in time`;
  const isMasterLate = wanted.fsynced !== undefined && (reached.fsynced ?? wanted.fsynced) < wanted.fsynced;
  return isMasterLate ? `${replicas}, and the master has not synced it to disk` : replicas;
}

export function noConversation({ id }: ConversationRef): TurnfoldError {
  return fieldError('not_found', 'conversation', `no conversation ${id}`);
}

export function noTurn({ id }: ConversationRef, turn: string): TurnfoldError {
  return fieldError('not_found', 'turn', `no turn ${turn} in conversation ${id}`);
}

export function noVersion({ id }: ConversationRef, version: number, field = 'version'): TurnfoldError {
  return fieldError('not_found', field, `no version ${version} of conversation ${id}`);
}

export function beingCopied(
  { id }: ConversationRef,
  { isAbandoned }: Pick<Forking, 'isAbandoned'>,
  field = 'conversation',
): TurnfoldError {
  const remedy = 'Call fork again (the same operation id resumes the copy, another id starts over), or erase the copy';
  return isAbandoned
    ? fieldError('fork_abandoned', field, `the copy to ${id} stopped before it finished. ${remedy}`)
    : fieldError('conversation_forking', field, `${id} is being created by a fork. Wait until the fork is complete`);
}

export function versionGone({ id }: ConversationRef, version: number, field = 'version'): TurnfoldError {
  return fieldError('version_gone', field, `version ${version} of conversation ${id} is no longer kept`);
}

export function notFailed(turn: string, state: TurnState): TurnfoldError {
  return fieldError('turn_not_failed', 'turn', `${turn} is ${state}, but only a failed turn can be re-driven`, {
    details: { state },
  });
}

/** Refuses a second agent for a conversation, because it would run and compact the history under another policy. */
export function agentConflict({ id }: ConversationRef, agent: string): TurnfoldError {
  const name = clipText(agent, MAX_ID_CHARACTERS); // a corrupt record may hold any text
  const why = `conversation ${id} belongs to the agent ${name}. Use that agent, or another conversation`;
  return fieldError('agent_conflict', 'agent', why, { details: { agent: name } });
}

/** The error names no owner: the caller may have guessed the id of a conversation. */
export function ownerConflict({ id }: ConversationRef): TurnfoldError {
  const why = `conversation ${id} belongs to another owner, or to none. Use another conversation, or change its owner`;
  return fieldError('conflict', 'owner', why);
}
