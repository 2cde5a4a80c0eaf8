import { expect, test } from 'vitest';
import { nameAgentTools } from '../../src/cli/mcp/agent-tools.ts';

test('the MCP tool of an agent has its name in the characters of tools, and equal names are refused', () => {
  expect([...nameAgentTools(['support', 'shop.eu'])]).toEqual([
    ['ask_support', 'support'],
    ['ask_shop_eu', 'shop.eu'],
  ]);
  expect(() => nameAgentTools(['shop.eu', 'shop_eu'])).toThrow('--agents: the tools of "shop.eu" and "shop_eu"');
});
