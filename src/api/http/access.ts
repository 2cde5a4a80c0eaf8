import { includesScope, type Scope } from '../../domain/access-key.ts';
import {
  type AllowedHosts,
  ANY_HOST,
  explainForeignHost,
  isAllowedHost,
  readAllowedHosts,
} from '../../domain/allowed-hosts.ts';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import type { ConversationName, TurnfoldClient } from '../client/index.ts';
import { type Authenticate, type Caller, checkTenant, foreignTenant, trustEveryone } from './caller.ts';
import { type Authorize, ConversationGuard } from './guarded-client.ts';
import { HttpProblem } from './problem.ts';
import type { Readers, ServerReaders } from './readers.ts';
import { type ContextFor, type FindContext, findContextOnce, withContext } from './turn-contexts.ts';

export interface AccessOptions {
  /**
   * Finds out who sends a request. `'none'`: every caller has all rights in the default tenant, for a server that only
   * this machine reaches.
   */
  readonly authenticate: Authenticate | 'none';
  /**
   * Host names under which requests may come, beside `localhost` and IP addresses. `*.example.com` allows all names
   * below it. `*` allows every name, and needs a function `authenticate`.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Decides whether a caller may use a conversation (all conversations of its tenant). Every route and protocol asks for
   * each conversation that a request names, and again while a stream is open. `false`: 403 `forbidden`. Lists leave out
   * the conversations that the function refuses.
   */
  readonly authorize?: Authorize | undefined;
  /**
   * Context data of each turn that a request begins without data of its own, in every route and protocol (none). An
   * error of the function answers 500, without its message.
   */
  readonly contextFor?: ContextFor | undefined;
  /** Origins of web pages that may call the routes, or `*`. Absent: only pages of the same origin. */
  readonly cors?: readonly string[];
}

export interface Access {
  readonly authenticate: Authenticate;
  readonly isOpen: boolean;
  readonly hosts: AllowedHosts;
  readonly cors: readonly string[];
  readonly authorize: Authorize | undefined;
  readonly contextFor: ContextFor | undefined;
}

/** Any web page can send the origin `null`, so it stands for all origins. */
const ALL_ORIGINS = ['*', 'null'];

export function openAccess(options: AccessOptions): Access {
  const { authenticate, authorize, contextFor, allowedHosts = [], cors = [] } = options;
  const isOpen = authenticate === 'none';
  if (!isOpen && typeof authenticate !== 'function') {
    const why = 'expected a function that finds the caller of a request, such as authenticateByKey(client.keys)';
    throw fieldError('invalid_config', 'authenticate', `${why}, or 'none' for a server that only this machine reaches`);
  }
  const hosts = readAllowedHosts(allowedHosts, 'allowedHosts');
  if (isOpen) checkOpenAccess({ allowedHosts, cors });
  return { authenticate: isOpen ? trustEveryone : authenticate, isOpen, hosts, cors, authorize, contextFor };
}

const OPTIONS = { allowedHosts: 'allowedHosts', cors: 'cors', remedy: 'set authenticate' };

/** Refuses settings with which unknown web pages could call a server without access control. */
export function checkOpenAccess(
  { allowedHosts, cors }: Required<Pick<AccessOptions, 'allowedHosts' | 'cors'>>,
  names = OPTIONS,
): void {
  const open = 'without access control, any web page could then read and change every conversation';
  const origin = cors.find((listed) => ALL_ORIGINS.includes(listed));
  if (origin !== undefined) {
    const why = `${origin} is refused: ${open}. List the origins, or ${names.remedy}`;
    throw fieldError('invalid_config', names.cors, why);
  }
  if (!allowedHosts.includes(ANY_HOST)) return;
  throw fieldError('invalid_config', names.allowedHosts, `* is refused: ${open}. List the names, or ${names.remedy}`);
}

/** Checks the URL and the header `Host`, which may differ over HTTP/2, and for a URL in absolute form. */
export function checkHost(request: Request, hosts: AllowedHosts): void {
  const given = [request.headers.get('host'), new URL(request.url).host].filter((host) => host !== null);
  const foreign = given.find((host) => !isAllowedHost(host, hosts));
  if (foreign === undefined) return;
  throw new HttpProblem('forbidden', explainForeignHost(foreign, 'allowedHosts (--allowed-hosts)'), { field: 'host' });
}

/** Refuses requests of unknown origins. Without keys, any page in a browser on this machine could send requests. */
export function checkSource(request: Request, { hosts, isOpen, cors }: Access): void {
  checkHost(request, hosts);
  if (isOpen) checkOrigin(request, cors);
}

export function checkOrigin(request: Request, cors: readonly string[]): void {
  const origin = request.headers.get('origin');
  if (origin === null || cors.includes('*') || cors.includes(origin)) return;
  const host = request.headers.get('host') ?? new URL(request.url).host;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new HttpProblem('forbidden', 'web pages of this origin may not call this server', { field: 'origin' });
}

export function checkScopes({ scopes }: Caller, needed: readonly Scope[]): void {
  const missing = needed.find((scope) => !includesScope(scopes, scope));
  if (missing === undefined) return;
  throw new HttpProblem('forbidden', `this route needs a key with the scope ${missing}`, { field: 'authorization' });
}

const CHANGED = 'the caller now reaches other conversations. Send the request again';

/** A caller, and all that the request may do in its name. */
export interface Admission {
  readonly caller: Caller;
  readonly readers: Readers;
  /** Returns a client that reaches only the conversations of the caller, and adds `contextFor` to new turns. */
  readonly guard: ConversationGuard['guard'];
  /** Refuses a conversation before an answer begins. Needs a client of `guard`. @throws access_denied */
  readonly checkConversation: (name: ConversationName) => Promise<void>;
  /** The same, asked each time: a conversation may have got an owner since. @throws access_denied */
  readonly checkConversationNow: (name: ConversationName) => Promise<void>;
  /** Finds what `contextFor` gives to new turns of the request. Absent: the server has no such function. */
  readonly findContext: FindContext | undefined;
}

export async function admit(
  request: Request,
  { access, readers }: { readonly access: Access; readonly readers: ServerReaders },
  needed: readonly Scope[],
): Promise<Admission> {
  const identify = async (asked: Request): Promise<Caller> => {
    const caller = await access.authenticate(asked);
    checkTenant(asked, caller);
    checkScopes(caller, needed);
    return caller;
  };
  const caller = await identify(request);
  const { url, headers } = request;
  const conversations = new ConversationGuard(caller, access.authorize);
  const checkAccess = async (): Promise<void> => {
    // The body was already read, so this check identifies the caller by a request without a body.
    const { tenant, owner, conversation } = await identify(new Request(url, { headers }));
    if (tenant !== caller.tenant) throw foreignTenant(tenant);
    if (owner !== caller.owner || conversation !== caller.conversation) throw new HttpProblem('forbidden', CHANGED);
    await conversations.checkAgain().catch((error: unknown) => {
      throw isTurnfoldError(error, 'access_denied') ? new HttpProblem('forbidden', error.message) : error;
    });
  };
  const { contextFor } = access;
  const findContext = contextFor && findContextOnce(contextFor, request, caller);
  const guard = (client: TurnfoldClient): TurnfoldClient =>
    conversations.guard(findContext === undefined ? client : withContext(client, findContext));
  const checkConversation = (name: ConversationName): Promise<void> => conversations.check(name);
  const checkConversationNow = (name: ConversationName): Promise<void> => conversations.checkNow(name);
  const checks = { checkConversation, checkConversationNow };
  return { caller, readers: readers.forRequest(checkAccess), guard, ...checks, findContext };
}
