import { CLIENT_CAPABILITIES_META_KEY, type McpServer, type ServerContext } from '@modelcontextprotocol/server';

/** Extension of MCP 2026-07-28 by which a call of a tool returns a task. */
export const TASKS = 'io.modelcontextprotocol/tasks';

interface Abilities {
  /** A person at the client can answer questions. */
  readonly isAskable: boolean;
  readonly takesTasks: boolean;
}

interface Capabilities {
  readonly elicitation?: { readonly form?: object; readonly url?: object };
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** Each request says it since MCP 2026-07-28. A client of an earlier version said it once. */
export function readAbilities({ server }: McpServer, { mcpReq: { envelope } }: ServerContext): Abilities {
  const said = (envelope as Readonly<Record<string, unknown>> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const { elicitation, extensions } = (said ?? server.getClientCapabilities() ?? {}) as Capabilities;
  // A client that declares no kind of question takes forms. A client that declares only `url` opens pages instead.
  const isAskable = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
  return { isAskable, takesTasks: said !== undefined && extensions?.[TASKS] !== undefined };
}
