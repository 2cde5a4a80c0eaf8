import {
  type AuthProvider,
  type CallToolResult,
  Client,
  type JSONRPCMessage,
  type Tool as McpTool,
  type OAuthClientProvider,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { readSafely } from '../../../domain/thrown.ts';
import type { ToolProgress } from '../../../domain/tool-notes.ts';

/** An MCP server that runs as a process of its own, and communicates over standard input and output. */
export interface McpCommand {
  /** Program that runs the server. */
  readonly command: string;
  /** Arguments of the program. */
  readonly args?: readonly string[];
  /** Environment of the process. Without it, the process gets only variables that hold no secrets, such as `PATH`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory of the process (default: the worker's directory). */
  readonly cwd?: string;
}

/** An MCP server that is reached by streamable HTTP. */
export interface McpAddress {
  /** Address of the server's endpoint, such as `https://tracker.example/mcp`. */
  readonly url: string;
  /** Headers of every request, such as `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Source of tokens, in the form of the official client. */
  readonly authProvider?: AuthProvider | OAuthClientProvider;
}

export type McpServerAddress = McpCommand | McpAddress;

/** Replaces the SDK's time limit of a minute for a request, because the signal has the turn's deadline. */
const NEVER_MS = 2_147_483_647;
/** A server that does not answer the first request within this time counts as one of an older protocol version. */
const PROBE_MS = 3_000;

/** The server was unreachable or forgot the session. */
export class ServerAway extends Error {
  /** True if the server did not receive the call, so that a repeated call takes effect only once. */
  readonly isUnsent: boolean;

  constructor(isUnsent: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : 'the server is away', { cause });
    this.isUnsent = isUnsent;
  }
}

interface McpCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ToolProgress) => void;
}

/** A connection that opens at its first use, and again after a loss. Owns the client, and the process of a command. */
export class McpConnection {
  readonly #address: McpServerAddress;
  readonly #connectTimeoutMs: number;
  #client: Client | undefined;
  #opening: Promise<Client> | undefined;
  #isClosed = false;

  constructor(address: McpServerAddress, connectTimeoutMs: number) {
    this.#address = address;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  async listTools(): Promise<McpTool[]> {
    const client = await this.#open();
    return (await client.listTools(undefined, { timeout: this.#connectTimeoutMs })).tools;
  }

  /** @throws ServerAway if the server was unreachable or forgot the session */
  async callTool({ name, arguments: given, idempotencyKey, signal, onProgress }: McpCall): Promise<CallToolResult> {
    const client = await this.#open().catch((error: unknown) => Promise.reject(new ServerAway(true, error)));
    signal.throwIfAborted();
    try {
      return await client.callTool(
        { name, arguments: given, _meta: { 'turnfold/idempotencyKey': idempotencyKey } },
        {
          signal,
          timeout: NEVER_MS,
          onprogress: ({ progress: done, total, message: text }) =>
            onProgress({ done, ...(total !== undefined && { total }), ...(text !== undefined && { text }) }),
        },
      );
    } catch (error) {
      const loss = readLoss(error);
      if (loss === undefined || signal.aborted) throw error;
      this.#drop(client);
      throw new ServerAway(loss === 'unsent', error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = this.#client ?? (await this.#opening?.catch(() => undefined));
    this.#client = undefined;
    await client?.close();
  }

  async #open(): Promise<Client> {
    if (this.#isClosed) throw new Error('the connection to the server was closed');
    if (this.#client !== undefined) return this.#client;
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  async #connect(): Promise<Client> {
    const timeout = this.#connectTimeoutMs;
    const probe = { timeoutMs: Math.min(PROBE_MS, timeout / 2) };
    const client = new Client({ name: 'turnfold', version: '1' }, { versionNegotiation: { mode: 'auto', probe } });
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is no event target
    client.onclose = () => this.#drop(client);
    try {
      await client.connect(openTransport(this.#address), { timeout });
    } catch (error) {
      await client.close().catch(() => {});
      throw error;
    }
    this.#client = client;
    return client;
  }

  /** Another call may already have opened a new connection. */
  #drop(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.close().catch(() => {});
  }
}

function openTransport(address: McpServerAddress): Transport {
  if ('command' in address) {
    const { command, args = [], env, cwd } = address;
    return new StdioClientTransport({
      command,
      args: [...args],
      ...(env && { env: { ...env } }),
      ...(cwd !== undefined && { cwd }),
    });
  }
  const { url, headers, authProvider } = address;
  return new WatchedHttpTransport(new URL(url), {
    ...(headers && { requestInit: { headers: { ...headers } } }),
    ...(authProvider && { authProvider }),
  });
}

/** Error code of a call whose stream ended without an answer. The protocol reserves its range for implementations. */
const STREAM_LOST = -32_097;

/**
 * Fails the calls of an ended stream. The SDK's transport reports the end, but its client would wait for its timeout.
 */
class WatchedHttpTransport extends StreamableHTTPClientTransport {
  override async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      if (!('method' in message && 'id' in message)) return;
      const error = { code: STREAM_LOST, message: 'the MCP server ended the connection without an answer' };
      // The error waits, so that an answer before the stream's end is read first. The client ignores a second answer.
      setImmediate(() => this.onmessage?.({ jsonrpc: '2.0', id: message.id, error }));
    };
    const watched = { ...options, onRequestStreamEnd } as Parameters<StreamableHTTPClientTransport['send']>[1];
    await super.send(message, watched);
  }
}

const LOSSES: ReadonlySet<unknown> = new Set([
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
]);

function readLoss(error: unknown): 'unsent' | 'unknown' | undefined {
  // A restarted server knows no old session, and answers 404 before it reads the call.
  if (SdkHttpError.isInstance(error)) {
    if (error.status === 404) return 'unsent';
    return error.status >= 500 ? 'unknown' : undefined;
  }
  if (SdkError.isInstance(error)) {
    if (error.code === SdkErrorCode.NotConnected) return 'unsent';
    return LOSSES.has(error.code) ? 'unknown' : undefined;
  }
  if (ProtocolError.isInstance(error)) return error.code === STREAM_LOST ? 'unknown' : undefined;
  // `fetch` reports a lost connection as a TypeError.
  if (!(error instanceof TypeError)) return undefined;
  return readSafely(error.cause, 'code') === 'ECONNREFUSED' ? 'unsent' : 'unknown';
}
