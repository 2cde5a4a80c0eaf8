import {
  checkHardLimit,
  endBefore,
  evictNewer,
  findVersionBefore,
  keepBetween,
  type RestoredParts,
  restoreVersion,
  weighOutside,
} from '../../compaction/restore.ts';
import { type ConversationState, NO_BACKOFF } from '../../domain/conversation.ts';
import type { Acknowledged } from '../../domain/durability.ts';
import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { operationId } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import { isSettled } from '../../domain/turn.ts';
import { type Segment, START_VERSION, type Version } from '../../domain/version.ts';
import type { VersionReplacementResult } from '../../store/versions.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { Methods } from '../contract/client.ts';
import { readConversationName, readTurnId } from '../contract/names.ts';
import { type RestoreInput, restoreSchema, rollbackSchema } from '../contract/versions.ts';
import {
  beingCopied,
  checkDurability,
  nameRepeatable,
  noConversation,
  noTurn,
  noVersion,
  versionGone,
} from './client-errors.ts';
import { missingVersion, readConversationState } from './contexts.ts';
import { nameClientCall, operationConflict } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';

export const versionMethods = {
  /**
   * Cancels a compaction in progress. The next compaction waits until the context has grown by 15 %, unless a hard
   * limit is reached.
   * @throws invalid_input, not_found, version_gone, over_hard_limit, conversation_busy, conversation_forking, conflict,
   * accepted_unsure
   */
  restore: async (ports, name, input) => {
    const { operation, ...wanted } = parseInput(restoreSchema, input);
    const { version: number, newer, ...options } = wanted;
    return await replaceLive(ports, readConversationName(name), {
      ...options,
      operation: nameClientCall(ports, operation, ['restore', wanted]),
      keepsNewer: newer === 'keep',
      change: async (readings) => {
        const target = findKept(readings, number);
        const explained = [`restored_${number}`, `newer_${newer === 'keep' ? 'kept' : 'dropped'}`];
        return { cause: 'restore', target, newer: await newerThan(ports, readings, target, newer), explained };
      },
    });
  },
  /**
   * Rolls back a turn. All messages from the turn's first message on leave the context, except for pinned messages.
   * @throws invalid_input, not_found, turn_running, version_gone, over_hard_limit, conversation_busy,
   * conversation_forking, accepted_unsure, conflict if the turn never began
   */
  rollBackTurn: async (ports, name, turn, input = {}) => {
    const conversation = readConversationName(name);
    const { operation, ...options } = parseInput(rollbackSchema, input);
    const first = await findFirstSeq(ports, conversation, readTurnId(turn));
    return await replaceLive(ports, conversation, {
      ...options,
      operation: nameClientCall(ports, operation, ['rollback', turn, options]),
      keepsNewer: false,
      change: async ({ versions, state: { head } }) => {
        const target = findVersionBefore(versions, first);
        if (target === undefined) throw versionGone(conversation, (versions[0]?.number ?? 1) - 1);
        const entries = await ports.contexts.readLog(conversation, [{ from: first, to: head }]);
        const before = endBefore(entries[0]);
        if (before === undefined) throw noConversation(conversation);
        const between = keepBetween({ head: target.base, total: target.baseTotal }, before);
        const gone = await eventLoopShare.run(evictNewer(entries));
        return { cause: 'rollback', target, newer: [...between, ...gone], explained: ['turn_rolled_back'] };
      },
    });
  },
} satisfies Methods<ClientPorts>;

const TRIES = 5;

interface Readings {
  readonly conversation: ConversationRef;
  readonly state: ConversationState;
  readonly versions: readonly Version[];
  readonly live: Version;
}

type Changes = Pick<RestoredParts, 'cause' | 'target' | 'newer' | 'explained'>;

interface ReplaceOptions {
  readonly operation: string;
  readonly hardTokens?: number | undefined;
  readonly expectedVersion?: number | undefined;
  readonly keepsNewer: boolean;
  readonly change: (readings: Readings) => Promise<Changes>;
}

async function replaceLive(
  ports: ClientPorts,
  conversation: ConversationRef,
  options: ReplaceOptions,
): Promise<Version> {
  const run = () => tryReplace(ports, conversation, options);
  let result = await run();
  const { expectedVersion, operation } = options;
  for (let tries = 1; result.status === 'changed' && tries < TRIES; tries += 1) {
    if (expectedVersion !== undefined && result.version !== expectedVersion) throw otherVersion(result.version);
    result = await run();
  }
  if (result.status !== 'replaced' && result.status !== 'known') throw refusalOf(conversation, operation, result);
  if (result.wakeTurn !== undefined) await ports.wakes.wake('turn', conversation, result.wakeTurn);
  checkDurability(result, { field: 'operation', id: operationId(operation) });
  const version = await ports.contexts.readVersion(conversation, result.version);
  if (version === undefined) throw noVersion(conversation, result.version);
  return version;
}

async function tryReplace(
  ports: ClientPorts,
  conversation: ConversationRef,
  { operation, hardTokens, expectedVersion, keepsNewer, change }: ReplaceOptions,
): Promise<Acknowledged<VersionReplacementResult>> {
  const state = await readConversationState(ports, conversation);
  const versions = await ports.contexts.listVersions(conversation);
  const live = versions.find(({ number }) => number === state.size.version) ?? START_VERSION;
  const outside = weighOutside(versions);
  const log = { head: state.head, total: state.size.headTotal };
  const changes = await change({ conversation, state, versions, live });
  const made = restoreVersion({ ...changes, live, log, outside, now: ports.now() });
  // The store refuses the replacement if another version is live, unless the operation was done before.
  const expected = expectedVersion ?? state.size.version;
  const version = { ...made, number: expected + 1 };
  const field = changes.cause === 'rollback' ? 'turn' : 'version';
  if (hardTokens !== undefined) checkHardLimit(version, outside, hardTokens, field);
  const replacement = {
    conversation,
    operation,
    expectedVersion: expected,
    expectedHead: state.head,
    version,
    backoff: { ...NO_BACKOFF, noGainBelowTokens: Math.ceil(version.tokensAfter * PASS_LIMITS.backoffGrowth) },
    keepsNewer,
    wakeTurn: ports.ids.next(),
    keepVersions: PASS_LIMITS.keepVersions,
  };
  return await nameRepeatable({ field: 'operation', id: operationId(operation) }, () =>
    ports.versions.replaceVersion(replacement),
  );
}

function findKept({ conversation, state, versions }: Readings, number: number): Version {
  if (number === START_VERSION.number) return START_VERSION;
  const found = versions.find((version) => version.number === number);
  if (found !== undefined) return found;
  throw missingVersion(conversation, state.size, number);
}

async function newerThan(
  ports: ClientPorts,
  { conversation, state: { head, size } }: Readings,
  { base, baseTotal }: Version,
  newer: RestoreInput['newer'],
): Promise<Segment[]> {
  if (newer === 'keep') return keepBetween({ head: base, total: baseTotal }, { head, total: size.headTotal });
  return await eventLoopShare.run(
    evictNewer(await ports.contexts.readLog(conversation, [{ from: base + 1, to: head }])),
  );
}

async function findFirstSeq(ports: ClientPorts, conversation: ConversationRef, turn: string): Promise<number> {
  const view = await ports.turns.readTurn(conversation, turn);
  if (view === undefined) throw noTurn(conversation, turn);
  if (!isSettled(view.state)) {
    throw fieldError('turn_running', 'turn', `${turn} is ${view.state}. Wait until it has settled, or cancel it`);
  }
  if (view.inputSeq !== undefined) return view.inputSeq;
  const why = `${turn} was ${view.state} before it began, so it changed nothing that could be rolled back`;
  throw fieldError('conflict', 'turn', why);
}

function otherVersion(live: number): TurnfoldError {
  const why = `the live version is ${live}. Read the context again before you replace it`;
  return fieldError('conflict', 'expectedVersion', why, { details: { version: live } });
}

type Refusal = Exclude<VersionReplacementResult, { readonly status: 'replaced' | 'known' }>;

function refusalOf(conversation: ConversationRef, operation: string, refusal: Refusal): TurnfoldError {
  switch (refusal.status) {
    case 'busy': {
      const why = `a turn of ${conversation.id} is in flight. Wait until it has settled, or cancel it`;
      return fieldError('conversation_busy', 'conversation', why);
    }
    case 'changed': {
      const { version, head } = refusal;
      const why = `conversation ${conversation.id} kept changing during the call. Try again`;
      return fieldError('conflict', 'conversation', why, { details: { version, head } });
    }
    case 'text_gone': {
      const why = 'a summary or another text of this version is no longer kept. Restore another version';
      return fieldError('version_gone', 'version', why);
    }
    case 'other_payload':
      return operationConflict(operation);
    case 'forking':
      return beingCopied(conversation, refusal);
    default:
      return noConversation(conversation);
  }
}
