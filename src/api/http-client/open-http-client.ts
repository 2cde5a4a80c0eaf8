import type { AnyAgents, OpenClient } from '../client/index.ts';
import { type HttpClientOptions, readHttpClientOptions } from './client-options.ts';
import {
  appendMessages,
  describeConversation,
  diffVersions,
  eraseConversation,
  followEvents,
  forkConversation,
  listConversations,
  listVersions,
  planCompaction,
  readBreakdown,
  readContext,
  readLog,
  readOutline,
  readUsage,
  reportVersion,
  requestCompaction,
  restoreConversation,
  rollBackTurn,
  showVersion,
} from './contexts.ts';
import { decideProposal, readProposal } from './proposals.ts';
import { Transport } from './transport.ts';
import { enqueueTurns } from './turn-list.ts';
import {
  answerTurn,
  cancelTurn,
  enqueueTurn,
  listFailedTurns,
  listOpenTurns,
  listWaiting,
  readResult,
  readSteps,
  redriveTurn,
  streamTurn,
} from './turns.ts';

/** The client over HTTP. Keys and webhooks are the business of operators, who reach Redis. */
export type HttpClient<Agents extends AnyAgents = AnyAgents> = Omit<OpenClient<Agents>, 'keys' | 'webhooks'>;

/**
 * Opens a client over HTTP with the methods of the client over Redis. It sends nothing before its first call. While the
 * server is away, each call is retried for `deadlineMs`, a write under the same id. Streams continue behind the last
 * received part. The key decides which tenant the client reaches. A call that names another tenant fails with
 * `access_denied`.
 * @throws invalid_config for an option, with the field
 */
export function openHttpClient<Agents extends AnyAgents = AnyAgents>(options: HttpClientOptions): HttpClient<Agents> {
  const http = new Transport(readHttpClientOptions(options));
  const client: HttpClient = {
    enqueueTurn: (input) => enqueueTurn(http, input),
    enqueueTurns: (inputs) => enqueueTurns(http, inputs),
    result: (conversation, turn, given) => readResult(http, conversation, turn, given),
    stream: (conversation, turn, given) => streamTurn(http, conversation, turn, given),
    steps: (conversation, turn) => readSteps(http, conversation, turn),
    cancel: (conversation, turn) => cancelTurn(http, conversation, turn),
    openTurns: (conversation, input) => listOpenTurns(http, conversation, input),
    conversations: (input) => listConversations(http, input),
    waiting: (input) => listWaiting(http, input),
    usage: (input) => readUsage(http, input),
    failedTurns: (input) => listFailedTurns(http, input),
    redrive: (conversation, turn, input) => redriveTurn(http, conversation, turn, input),
    answer: (...call) => answerTurn(http, ...call),
    append: (input) => appendMessages(http, input),
    context: (conversation, at) => readContext(http, conversation, at),
    show: (conversation, version) => showVersion(http, conversation, version),
    versions: (conversation) => listVersions(http, conversation),
    diff: (conversation, before, after) => diffVersions(http, conversation, { before, after }),
    outline: (conversation, input) => readOutline(http, conversation, input),
    breakdown: (conversation, input) => readBreakdown(http, conversation, input),
    report: (conversation, version, input) => reportVersion(http, conversation, version, input),
    plan: (conversation, input) => planCompaction(http, conversation, input),
    log: (conversation, part) => readLog(http, conversation, part),
    events: (conversation, given) => followEvents(http, conversation, given),
    describe: (conversation) => describeConversation(http, conversation),
    restore: (conversation, input) => restoreConversation(http, conversation, input),
    rollBackTurn: (conversation, turn, input) => rollBackTurn(http, conversation, turn, input),
    fork: (from, to, input) => forkConversation(http, from, to, input),
    compact: (conversation) => requestCompaction(http, conversation),
    proposal: (conversation) => readProposal(http, conversation),
    approve: (conversation, proposal, input) =>
      decideProposal(http, conversation, { verdict: 'approve', proposal, input }),
    reject: (conversation, proposal, input) =>
      decideProposal(http, conversation, { verdict: 'reject', proposal, input }),
    erase: (conversation) => eraseConversation(http, conversation),
    close: async () => http.close(),
  };
  return client as unknown as HttpClient<Agents>; // agent names and contexts exist only as types
}
