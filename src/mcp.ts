/** `turnfold/mcp`: the tools of MCP servers. Needs the package `@modelcontextprotocol/client`. */
export type { McpAddress, McpCommand, McpServerAddress } from './toolsets/mcp/connection.ts';
export { type McpTools, type McpToolsOptions, openMcpTools } from './toolsets/mcp/mcp-tools.ts';
