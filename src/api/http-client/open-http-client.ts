import { fieldError } from '../../domain/errors.ts';
import type {
  AccessKeys,
  AccessKeyView,
  AddedWebhook,
  AnyAgents,
  DryPlan,
  Fork,
  IssuedKey,
  LogEntry,
  OpenClient,
  ProposalView,
  TurnfoldClient,
  WebhookTest,
  WebhookView,
} from '../client/index.ts';
import { bindMethods, type Methods, operations } from '../contract/client.ts';
import { type HttpClientOptions, readHttpClientOptions } from './client-options.ts';
import { callNamed, callOperation, readCalled, readFields, writeRequest } from './requests.ts';
import { httpStreamMethods } from './streams.ts';
import { type HttpAnswer, Transport } from './transport.ts';
import { httpTurnMethods } from './turns.ts';

/** Keys and webhooks are those of the key's tenant. Only a client over Redis checks tokens of others. */
export interface HttpClient<Agents extends AnyAgents = AnyAgents> extends Omit<OpenClient<Agents>, 'keys'> {
  readonly keys: Omit<AccessKeys, 'authenticate'>;
}

/**
 * Opens a client over HTTP, which sends nothing before its first call. While the server is away, each call is retried
 * for `deadlineMs`, a write under the same id. Streams continue behind the last received part. A call that names
 * another tenant than the key's fails with `access_denied`.
 * @throws invalid_config for an option, with the field
 */
export function openHttpClient<Agents extends AnyAgents = AnyAgents>(options: HttpClientOptions): HttpClient<Agents> {
  const http = new Transport(readHttpClientOptions(options));
  const client: HttpClient = {
    ...bindMethods(methods, http),
    ...bindAccess(http),
    close: async () => http.close(),
  };
  return client as unknown as HttpClient<Agents>; // agent names and contexts exist only as types
}

/*
 * The methods of the client, over HTTP. Each method follows from its row in the contract: `requests.ts` makes the
 * request and takes out of the answer what the method returns. Three kinds of methods are written by hand. The answer
 * has another form (below), the method waits or sends several turns (`turns.ts`), or it streams (`streams.ts`).
 *
 * `transport.ts` sends the requests, and repeats them while the server is away. Every write has an id: the caller's, a
 * new one, or that of its turn or conversation. So a repeated request finds the write of the first.
 */

/** One method for each operation of the contract. */
const plainMethods = Object.fromEntries(
  Object.keys(operations).map((name) => [
    name,
    (http: Transport, ...given: readonly unknown[]): unknown => callOperation(http, name as PlainName, given),
  ]),
) as Required<Omit<Methods<Transport>, 'plan'>>; // `operations` has a row for every method but `plan`

type PlainName = Exclude<keyof TurnfoldClient, 'plan'>;

/** Methods whose answer over HTTP has another form, or comes in several pages. */
const formedMethods = {
  plan: async (http, name, input = {}) => {
    const { write: _, ...call } = writeRequest('compact', [name, { ...readFields(input), dryRun: true }]);
    return (await http.send<{ plan: DryPlan }>(call)).body.plan;
  },
  proposal: async (http, name) => {
    const { body, tenant } = await http.send<{ proposals: ProposalView[] }>(writeRequest('proposal', [name]));
    const [proposal] = body.proposals;
    return proposal === undefined ? undefined : { ...proposal, tenant };
  },
  fork: async (http, from, to, input = {}) => {
    const [source, target] = [readCalled(from), readCalled(to, 'to')];
    const named = source.tenant ?? target.tenant;
    if (target.tenant !== undefined && target.tenant !== named) {
      const why = `a fork stays in the tenant of its source, ${JSON.stringify(named)}. Got ${JSON.stringify(target.tenant)}`;
      throw fieldError('access_denied', 'to.tenant', why);
    }
    const call = writeRequest('fork', [
      { conversation: source.conversation, tenant: named },
      { ...readFields(input), to: target.conversation },
    ]);
    const { body, tenant } = await http.send<Fork>(call);
    return { ...body, tenant };
  },
  /** Reads the log page by page, because the server bounds the size of an answer. */
  log: async (http, name, part = {}) => {
    const { after = 0, limit, maxBytes, ...rest } = readFields(part);
    const entries: LogEntry[] = [];
    let next: number | undefined = after;
    while (next !== undefined) {
      const missing = limit === undefined ? PAGE_ENTRIES : limit - entries.length;
      if (entries.length > 0 && missing <= 0) break;
      const asked = { ...rest, after: next, limit: missing > PAGE_ENTRIES ? PAGE_ENTRIES : missing };
      const page: HttpAnswer<LogPage> = await http.send<LogPage>(writeRequest('log', [name, asked]));
      entries.push(...page.body.items.map(({ from, to: _, ...entry }) => ({ ...entry, seq: from })));
      next = page.body.next;
      const end = maxBytes === undefined ? -1 : findEnd(entries, maxBytes);
      if (end !== -1) return entries.slice(0, end + 1);
    }
    return entries;
  },
} satisfies Methods<Transport>;

const methods: Required<Methods<Transport>> = {
  ...plainMethods,
  ...formedMethods,
  ...httpTurnMethods,
  ...httpStreamMethods,
};

/** The methods of `client.keys` and `client.webhooks`. */
function bindAccess(http: Transport): Pick<HttpClient, 'keys' | 'webhooks'> {
  return {
    keys: {
      create: async (input) => (await callNamed(http, 'createAccessKey', [input])) as IssuedKey,
      list: async (input = {}) => (await callNamed(http, 'listAccessKeys', [input])) as AccessKeyView[],
      rotate: async (id, input = {}) => (await callNamed(http, 'rotateAccessKey', [id, input])) as IssuedKey,
      revoke: async (id) => (await callNamed(http, 'revokeAccessKey', [id])) as AccessKeyView,
      rotateTokenSecret: async (input) => void (await callNamed(http, 'rotateTokenSecret', [input])),
    },
    webhooks: {
      add: async (input) => (await callNamed(http, 'addWebhook', [input])) as AddedWebhook,
      list: async (input = {}) => (await callNamed(http, 'listWebhooks', [input])) as WebhookView[],
      remove: async (id) => void (await callNamed(http, 'removeWebhook', [id])),
      retry: async (id) => (await callNamed(http, 'retryWebhook', [id])) as WebhookView,
      test: async (id, { signal } = {}) => (await callNamed(http, 'testWebhook', [id], signal)) as WebhookTest,
    },
  };
}

const PAGE_ENTRIES = 1_000;

interface LogPage {
  readonly items: readonly (Omit<LogEntry, 'seq'> & { readonly from: number; readonly to: number })[];
  readonly next?: number;
}

/** Returns the index of the entry with which the entries reach `maxBytes`, or -1. */
function findEnd(entries: readonly LogEntry[], maxBytes: number): number {
  let left = maxBytes;
  return entries.findIndex(({ bytes }) => (left -= bytes) <= 0);
}
