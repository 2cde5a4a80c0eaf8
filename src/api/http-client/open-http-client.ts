import type { AnyAgents, OpenClient, TurnfoldClient } from '../client/index.ts';
import { operations } from '../contract/client.ts';
import { type HttpClientOptions, readHttpClientOptions } from './client-options.ts';
import {
  describeConversation,
  forkConversation,
  planCompaction,
  readContext,
  readLog,
  readProposal,
  showVersion,
} from './contexts.ts';
import { callOperation } from './requests.ts';
import { followEvents, streamTurn } from './streams.ts';
import { Transport } from './transport.ts';
import { decideProposal, enqueueTurn, enqueueTurns, readResult, redriveTurn } from './turns.ts';

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
    ...callPlainly(http),
    enqueueTurn: (input) => enqueueTurn(http, input),
    enqueueTurns: (inputs) => enqueueTurns(http, inputs),
    redrive: (...call) => redriveTurn(http, ...call),
    result: (...call) => readResult(http, ...call),
    stream: (...call) => streamTurn(http, ...call),
    events: (...call) => followEvents(http, ...call),
    log: (...call) => readLog(http, ...call),
    context: (...call) => readContext(http, ...call),
    show: (...call) => showVersion(http, ...call),
    describe: (conversation) => describeConversation(http, conversation),
    fork: (...call) => forkConversation(http, ...call),
    plan: (...call) => planCompaction(http, ...call),
    proposal: (conversation) => readProposal(http, conversation),
    approve: (...call) => decideProposal(http, 'approve', ...call),
    reject: (...call) => decideProposal(http, 'reject', ...call),
    close: async () => http.close(),
  };
  return client as unknown as HttpClient<Agents>; // agent names and contexts exist only as types
}

/** A method for each operation of the contract. A method that streams, waits or reads several answers is replaced above. */
function callPlainly(http: Transport): Omit<TurnfoldClient, 'plan'> {
  const methods = Object.keys(operations).map((name) => {
    const operation = name as keyof Omit<TurnfoldClient, 'plan'>;
    return [name, (...given: readonly unknown[]) => callOperation(http, operation, given)];
  });
  return Object.fromEntries(methods) as Omit<TurnfoldClient, 'plan'>; // `operations` has a row for every method but `plan`
}
