/** `turnfold/mcp`: the tools of MCP servers. Needs the package `@modelcontextprotocol/client`. */
export type { Tool, ToolContext } from './domain/agent.ts';
export type { ToolProgress } from './domain/tool-notes.ts';
export type { TurnContext } from './domain/turn-context.ts';
export type { McpAddress, McpCommand, McpServerAddress } from './providers/tools/mcp/connection.ts';
export { type McpTools, type McpToolsOptions, openMcpTools } from './providers/tools/mcp/mcp-tools.ts';
