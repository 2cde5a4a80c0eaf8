import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/client';
import type { OutputPart, Tool, ToolContext, ToolOutput } from '../../../domain/agent.ts';
import { isTurnfoldError, TurnfoldError } from '../../../domain/errors.ts';
import { readResultParts } from '../../../domain/result-parts.ts';
import { describeThrown } from '../../../domain/thrown.ts';
import { inputOfJsonSchema } from '../json-schema-input.ts';
import { McpConnection, type McpServerAddress, ServerAway } from './connection.ts';

export interface McpToolsOptions {
  /** Name of the server, for error messages. */
  readonly name: string;
  /** Program or address of the server. */
  readonly server: McpServerAddress;
  /** Names of the tools to use (default: all). */
  readonly only?: readonly string[];
  /** Text before the name of each tool, such as `github_`, which keeps tools of two servers apart (default: none). */
  readonly prefix?: string;
  /** Decides for each tool whether a person must approve its calls (default: no tool needs approval). */
  readonly needsApproval?: (tool: McpTool) => boolean;
  /** Milliseconds that a call may take (default: the time limit of a step). */
  readonly timeoutMs?: number;
  /** Milliseconds that connecting and listing the tools may take (default 10,000). */
  readonly connectTimeoutMs?: number;
}

/** The tools of an MCP server. Disposing them closes the connection, and ends the process of a server over stdio. */
export interface McpTools extends AsyncDisposable {
  /** Tools for an agent, sorted by name. The list does not change while the process runs. */
  readonly tools: readonly Tool[];
  /** Closes the connection. Later calls get an error result. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects to an MCP server and makes tools of an agent from its tools. Later changes of the server's list are not
 * used: other tools would void the provider's prompt cache, and workers would differ.
 * @throws invalid_config if the server does not answer, if a name in `only` is missing, or if two names become equal
 */
export async function openMcpTools(options: McpToolsOptions): Promise<McpTools> {
  const connection = new McpConnection(options.server, options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);
  try {
    const listed = chooseTools(await connection.listTools(), options);
    const tools = listed.map((tool) => adaptTool(tool, connection, options));
    checkNames(tools, options.name);
    const close = (): Promise<void> => connection.close();
    return { tools, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await connection.close().catch(() => {});
    if (isTurnfoldError(error)) throw error;
    throw refuse(options.name, `the server did not list its tools: ${describeThrown(error).message}`, error);
  }
}

/** Servers may list tools in any order, but the model's prompt must stay the same. */
function chooseTools(listed: readonly McpTool[], { name, only }: McpToolsOptions): McpTool[] {
  const missing = only?.find((wanted) => listed.every((tool) => tool.name !== wanted));
  if (missing !== undefined) {
    const names = listed.map((tool) => tool.name).join(', ') || 'none';
    throw refuse(name, `the server has no tool "${missing}". Its tools: ${names}`);
  }
  const chosen = listed.filter((tool) => only === undefined || only.includes(tool.name));
  return chosen.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function checkNames(tools: readonly Tool[], server: string): void {
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name)) throw refuse(server, `two tools get the name "${name}". Take only one of them with \`only\``);
    names.add(name);
  }
}

function refuse(server: string, why: string, cause?: unknown): TurnfoldError {
  const field = `mcp.${server}`;
  return new TurnfoldError('invalid_config', `${field}: ${why}`, { field, cause });
}

const ILLEGAL_IN_NAMES = /[^a-zA-Z0-9_-]/g;
const MAX_NAME_LENGTH = 64;

/**
 * After a crash, a call runs again only if the server marks the tool as read-only or idempotent. By the specification,
 * a repeated call of any other tool may have another effect.
 */
function adaptTool(tool: McpTool, connection: McpConnection, options: McpToolsOptions): Tool {
  const { name, title, description = title ?? name, inputSchema, annotations } = tool;
  const isRepeatable = annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  const { prefix = '', needsApproval, timeoutMs } = options;
  return {
    name: `${prefix}${name}`.replace(ILLEGAL_IN_NAMES, '_').slice(0, MAX_NAME_LENGTH),
    description,
    input: inputOfJsonSchema(inputSchema),
    retry: isRepeatable ? 'safe' : 'never',
    needsApproval: needsApproval?.(tool) ?? false,
    ...(timeoutMs !== undefined && { timeoutMs }),
    run: (input, context) => callTool({ connection, name, isRepeatable, server: options.name }, input, context),
  };
}

interface CalledTool {
  readonly connection: McpConnection;
  readonly name: string;
  readonly isRepeatable: boolean;
  readonly server: string;
}

/** Repeats a call once over a new connection, if the call may be repeated. */
async function callTool(
  tool: CalledTool,
  input: unknown,
  { idempotencyKey, signal, progress }: ToolContext,
): Promise<ToolOutput> {
  const { connection, name, isRepeatable, server } = tool;
  const call = { name, arguments: input as Record<string, unknown>, idempotencyKey, signal, onProgress: progress };
  let away: ServerAway | undefined;
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    try {
      return readResult(await connection.callTool(call));
    } catch (error) {
      if (!(error instanceof ServerAway)) throw error;
      away = error;
      if (!(isRepeatable || error.isUnsent)) break;
    }
  }
  const effect = isRepeatable || away?.isUnsent === true ? '' : '. The call may have taken effect';
  return {
    content: `failed: the MCP server "${server}" is away: ${describeThrown(away).message}${effect}`,
    isError: true,
  };
}

function readResult({ content, structuredContent, isError }: CallToolResult): ToolOutput {
  const parts = content.map(readBlock);
  const texts = parts.map((part) => (typeof part === 'string' ? part : ''));
  const hasMedia = parts.some((part) => typeof part !== 'string');
  // Some servers send only structured content, although the specification asks for text, too.
  const isOnlyStructured = parts.length === 0 && structuredContent !== undefined;
  const given = hasMedia
    ? { content: '', parts: parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)) }
    : { content: isOnlyStructured ? JSON.stringify(structuredContent) : texts.join('\n') };
  return { ...given, ...(isError === true && { isError }) };
}

/** Returns a text, or an image or file that a model can read. */
function readBlock(block: CallToolResult['content'][number]): string | OutputPart {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
      return showMedia({ type: 'image', data: block.data, mediaType: block.mimeType }, 'an image');
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return resource.text;
      const { uri, blob: data, mimeType: mediaType = 'application/octet-stream' } = resource;
      const type = mediaType.startsWith('image/') ? 'image' : 'file';
      return showMedia({ type, data, mediaType, ...(type === 'file' && { name: nameOfUri(uri) }) }, `the file ${uri}`);
    }
    case 'resource_link':
      return `${block.name}: ${block.uri}`;
    default:
      return `(a part of type ${block.type} is not shown)`;
  }
}

/** Types that some model reads. Other files would only fill the log. */
const READABLE = /^(?:image\/|text\/|application\/pdf$)/;

/** An image that no provider can read becomes a note, because the rest of the result still helps the model. */
function showMedia(part: OutputPart, what: string): string | OutputPart {
  const isRead = READABLE.test(String(part['mediaType'])) && readResultParts([part], 'content').status === 'read';
  return isRead ? part : `(${what} of type ${String(part['mediaType'])} is not shown)`;
}

function nameOfUri(uri: string): string {
  return uri.slice(uri.lastIndexOf('/') + 1) || uri;
}
