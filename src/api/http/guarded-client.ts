import { fieldError, isTurnfoldError, type TurnfoldError } from '../../domain/errors.ts';
import { type ConversationRef, type NamedConversation, nameConversation } from '../../domain/ids.ts';
import type {
  ConversationAbout,
  ConversationName,
  EnqueueAnswer,
  EnqueueInput,
  TurnfoldClient,
} from '../client/index.ts';
import { type OperationName, operations } from '../contract/client.ts';
import { readConversationName } from '../contract/names.ts';
import { listArguments, type Operation } from '../contract/operation.ts';
import { type Caller, checkUnbound } from './caller.ts';

/** A conversation that a request names. A new one does not exist yet, so nothing is known about it. */
export interface ConversationInQuestion extends NamedConversation, Partial<ConversationAbout> {
  /** True: no such conversation exists, and the request may create it. */
  readonly isNew: boolean;
}

/** Decides whether a caller may use a conversation. The server checks the scopes of the caller, too. */
export type Authorize = (caller: Caller, conversation: ConversationInQuestion) => boolean | Promise<boolean>;

/**
 * Decides for one request which conversations its caller reaches. Every route and every protocol works through the
 * client of `guard`, so no route can forget the check. An answer counts for the whole request. Open streams ask again.
 */
export class ConversationGuard {
  readonly #caller: Caller;
  readonly #authorize: Authorize | undefined;
  /** Conversations that the request has named. */
  readonly #names = new Set<string>();
  readonly #answers = new Map<string, Promise<void>>();
  #client: TurnfoldClient | undefined;

  constructor(caller: Caller, authorize: Authorize | undefined) {
    this.#caller = caller;
    this.#authorize = authorize;
  }

  /** Returns a client that reaches only the conversations of the caller. */
  readonly guard = (client: TurnfoldClient): TurnfoldClient => {
    const { owner, conversation } = this.#caller;
    if (owner === undefined && conversation === undefined && this.#authorize === undefined) return client;
    this.#client = client;
    const names = [...Object.keys(operations), 'plan'].filter((name) => name in client) as (keyof TurnfoldClient)[];
    const guarded = names.map((name) => {
      const around: Guarded = {
        guard: this,
        caller: this.#caller,
        client,
        method: client[name].bind(client) as Method,
      };
      const rule = ruleOf(name);
      return [name, (...input: never[]) => rule(around, ...input)];
    });
    return Object.fromEntries(guarded) as TurnfoldClient; // every method has a row, or is `plan`
  };

  /** @throws access_denied if the caller may not use the conversation */
  async check(name: ConversationName): Promise<void> {
    const ref = readConversationName(name);
    const key = `${ref.tenant}/${ref.id}`;
    const known = this.#answers.get(key) ?? this.#decide(ref);
    this.#names.add(key);
    this.#answers.set(key, known);
    await known;
  }

  /** Checks without an earlier answer, for an effect that comes after the request. @throws access_denied */
  async checkNow(name: ConversationName): Promise<void> {
    await this.#decide(readConversationName(name));
  }

  async #reaches(name: ConversationName): Promise<boolean> {
    try {
      await this.check(name);
      return true;
    } catch (error) {
      if (isTurnfoldError(error, 'access_denied')) return false;
      throw error;
    }
  }

  /** Asks for all items of a page at once: one by one, a page of 100 would take 100 round trips. */
  async keepReached<Item extends NamedConversation>(items: readonly Item[]): Promise<Item[]> {
    const reached = await Promise.all(items.map((item) => this.#reaches(item)));
    return items.filter((_, at) => reached[at] === true);
  }

  /** Asks again for all conversations of the request, also after a check that could not run. @throws access_denied */
  async checkAgain(): Promise<void> {
    this.#answers.clear();
    for (const name of this.#names) {
      const [tenant = '', conversation = ''] = name.split('/');
      await this.check({ tenant, conversation });
    }
  }

  async #decide(ref: ConversationRef): Promise<void> {
    const { owner, conversation, tenant } = this.#caller;
    if (conversation !== undefined && (ref.id !== conversation || ref.tenant !== tenant)) throw refuse(ref);
    if (owner === undefined && this.#authorize === undefined) return;
    const about = await this.#read(ref);
    if (owner !== undefined && !about.isNew && about.owner !== owner) throw refuse(ref);
    if ((await this.#authorize?.(this.#caller, about)) === false) throw refuse(ref);
  }

  async #read(ref: ConversationRef): Promise<ConversationInQuestion> {
    const name = nameConversation(ref);
    try {
      const view = await this.#client?.describe(name);
      if (view === undefined) return { ...name, isNew: true };
      const { owner, title, metadata, createdAt, lastAt } = view;
      const said = {
        ...(owner !== undefined && { owner }),
        ...(title !== undefined && { title }),
        ...(metadata && { metadata }),
      };
      return { ...name, ...said, createdAt, lastAt, isNew: false };
    } catch (error) {
      if (isTurnfoldError(error, 'not_found')) return { ...name, isNew: true };
      throw error;
    }
  }
}

function refuse({ id }: ConversationRef): TurnfoldError {
  return fieldError('access_denied', 'conversation', `the caller may not use the conversation ${id}`);
}

type Input = readonly unknown[];
type Method = (...input: Input) => unknown;

interface Guarded {
  readonly guard: ConversationGuard;
  readonly caller: Caller;
  readonly client: TurnfoldClient;
  readonly method: Method;
}

type Rule = (guarded: Guarded, ...input: never[]) => unknown;

/** For a method whose first argument names the conversation. */
const named: Rule = async ({ guard, method }, name: ConversationName, ...rest: Input) => {
  await guard.check(name);
  return await method(name, ...rest);
};

/** The same for a stream. */
const followed: Rule = async function* follow({ guard, method }, name: ConversationName, ...rest: Input) {
  await guard.check(name);
  yield* method(name, ...rest) as AsyncIterable<unknown>;
};

/** For a method that may create the conversation. Its owner is then that of the caller. */
const created: Rule = async ({ guard, caller, method }, input: EnqueueInput) => {
  return await method(await checkCreated(guard, caller, input));
};

async function checkCreated(guard: ConversationGuard, caller: Caller, input: EnqueueInput): Promise<EnqueueInput> {
  await guard.check(input);
  return ownedByCaller(caller, input);
}

function ownedByCaller<Given extends Pick<EnqueueInput, 'owner'>>({ owner }: Caller, input: Given): Given {
  if (owner === undefined) return input;
  if (input.owner === undefined || input.owner === owner) return { ...input, owner };
  throw fieldError('access_denied', 'owner', 'the caller may create conversations only for itself');
}

/** Rules of methods whose row does not say which conversation they use. */
const RULES: Partial<Record<keyof TurnfoldClient, Rule>> = {
  enqueueTurn: created,
  enqueueTurns: async ({ guard, caller, client }, inputs: readonly EnqueueInput[]) => {
    const answers: (EnqueueAnswer | undefined)[] = [];
    const allowed: EnqueueInput[] = [];
    for (const input of inputs) {
      try {
        allowed.push(await checkCreated(guard, caller, input));
        answers.push(undefined);
      } catch (error) {
        if (!isTurnfoldError(error)) throw error;
        answers.push({ status: 'refused', error });
      }
    }
    const rest = (await client.enqueueTurns(allowed)).values();
    return answers.flatMap((answer) => answer ?? rest.next().value ?? []);
  },
  waiting: async ({ guard, caller, client }, input: { after?: string; limit?: number } = {}) => {
    checkUnbound(caller, 'conversation');
    const { limit = LIMIT } = input;
    const read = async (after: string | undefined) => {
      const { turns, next } = await client.waiting({ ...input, limit, after });
      return { items: turns, next };
    };
    const { items, next } = await filterPages({ guard, read, limit, after: input.after }, (item) =>
      [item.tenant, item.waiting.for, item.conversation, item.turn].join('/'),
    );
    return { turns: items, ...(next !== undefined && { next }) };
  },
  failedTurns: async ({ guard, caller, client }, input: { limit?: number } = {}) => {
    checkUnbound(caller, 'conversation');
    const { limit = LIMIT } = input;
    const all = await client.failedTurns({ ...input, limit: MOST_FAILED });
    const allowed: typeof all = [];
    for (let from = 0; allowed.length < limit && from < all.length; from += LIMIT) {
      allowed.push(...(await guard.keepReached(all.slice(from, from + LIMIT))));
    }
    return allowed.slice(0, limit);
  },
  append: created,
  conversations: async ({ guard, caller, client }, input: Parameters<TurnfoldClient['conversations']>[0] = {}) => {
    checkUnbound(caller, 'conversation');
    const { owner = caller.owner, limit = LIMIT } = input;
    if (caller.owner !== undefined && owner !== caller.owner) {
      throw fieldError('access_denied', 'owner', 'the caller may list only its own conversations');
    }
    const { order = owner === undefined ? 'stable' : 'newest' } = input;
    const read = async (after: string | undefined) => {
      const page = await client.conversations({ ...input, owner, limit, after });
      return { items: page.conversations, next: page.next };
    };
    const { items, next } = await filterPages({ guard, read, limit, after: input.after }, (item) =>
      order === 'newest' ? `${item.lastAt}/${item.conversation}` : `${item.tenant}/${item.conversation}`,
    );
    return { conversations: items, ...(next !== undefined && { next }) };
  },
  agents: async ({ method }, ...input) => await method(...input),
  usage: async ({ caller, method }, ...input) => {
    checkUnbound(caller);
    return await method(...input);
  },
  // Without the owner of its creator, a token would reach the conversation that another owner creates later.
  createConversationToken: async (
    { guard, caller, method },
    name: ConversationName,
    input: Pick<EnqueueInput, 'owner'> = {},
  ) => {
    await guard.check(name);
    return await method(name, ownedByCaller(caller, input));
  },
  fork: async ({ guard, method }, from: ConversationName, to: ConversationName, ...rest) => {
    await guard.check(from);
    await guard.check(to);
    return await method(from, to, ...rest);
  },
  plan: named,
};

/** The rule of any other method follows from its row. A method that names no conversation is refused. */
function ruleOf(name: keyof TurnfoldClient): Rule {
  const known = RULES[name];
  if (known !== undefined) return known;
  const operation: Operation = operations[name as OperationName];
  if (listArguments(operation)[0] === 'conversation') return operation.answerType === undefined ? named : followed;
  return ({ caller }) => {
    throw fieldError('access_denied', 'authorization', `a caller of tenant ${caller.tenant} may not use ${name}`);
  };
}

const LIMIT = 100;
const MOST_FAILED = 10_000;

interface FilteredPages<Item> {
  readonly guard: ConversationGuard;
  readonly read: (
    after: string | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly next: string | undefined }>;
  readonly limit: number;
  readonly after: string | undefined;
}

/** Reads until a page is full. The cursor follows from the last item: that of a read page may name a hidden conversation. */
async function filterPages<Item extends NamedConversation>(
  { guard, read, limit, after }: FilteredPages<Item>,
  cursorOf: (item: Item) => string,
): Promise<{ readonly items: readonly Item[]; readonly next?: string }> {
  const items: Item[] = [];
  for (let from = after; ; ) {
    const page = await read(from);
    for (const item of await guard.keepReached(page.items)) {
      items.push(item);
      if (items.length === limit) return { items, next: cursorOf(item) };
    }
    if (page.next === undefined) return { items };
    from = page.next;
  }
}
