import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Tool, ToolContext } from '../../../src/domain/agent.ts';
import { type McpServerAddress, type McpTools, type McpToolsOptions, openMcpTools } from '../../../src/mcp.ts';

/** `http` speaks the newest protocol version, and `sessions` an older one. */
export const KINDS = ['stdio', 'http', 'sessions'] as const;
export type Kind = (typeof KINDS)[number];

const SCRIPT = fileURLToPath(new URL('./server-process.ts', import.meta.url));

export interface RecordedCall {
  readonly tool: string;
  readonly key?: string;
  readonly pid?: number;
}

/** An MCP server for a test, with a record of the calls that it got. */
export interface TestServer extends AsyncDisposable {
  readonly address: McpServerAddress;
  /** A path at which no file exists yet. */
  readonly gate: string;
  readonly calls: () => RecordedCall[];
  /** Ends the process that got the last call, and waits until it is gone. Servers over HTTP are then away. */
  kill(): Promise<void>;
  /** Starts a server over HTTP again, at the same address. Over stdio, the client starts it. */
  restart(): Promise<void>;
}

export async function startServer(kind: Kind): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-mcp-'));
  const callsFile = join(folder, 'calls');
  let running: ChildProcess | undefined;
  let port = 0;
  const start = async (): Promise<void> => {
    if (kind === 'stdio') return;
    const child = spawn(process.execPath, [SCRIPT, kind, callsFile, String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running = child;
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    port = Number(line.toString());
  };
  await start();
  const calls = (): RecordedCall[] => {
    const text = readFileSync(callsFile, { encoding: 'utf8', flag: 'a+' });
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as RecordedCall);
  };
  return {
    address:
      kind === 'stdio'
        ? { command: process.execPath, args: [SCRIPT, kind, callsFile] }
        : { url: `http://127.0.0.1:${port}/mcp` },
    gate: join(folder, 'gate'),
    calls,
    async kill() {
      const gone = running && once(running, 'exit');
      const pid = running?.pid ?? calls().findLast((call) => call.pid !== undefined)?.pid;
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
      await gone;
      running = undefined;
    },
    restart: start,
    async [Symbol.asyncDispose]() {
      running?.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function openTools(server: TestServer, options: Partial<McpToolsOptions> = {}): Promise<McpTools> {
  return await openMcpTools({ name: 'files', server: server.address, ...options });
}

export async function runTool(
  tools: readonly Tool[],
  name: string,
  input: object = {},
  changes: Partial<ToolContext> = {},
): Promise<unknown> {
  const tool = tools.find((known) => known.name === name);
  return await tool?.run?.(input, {
    tenant: '_',
    conversation: 'c1',
    turn: 't1',
    context: {},
    idempotencyKey: 'c1/t1/c2_0',
    signal: new AbortController().signal,
    progress: () => undefined,
    emit: () => undefined,
    ...changes,
  });
}
