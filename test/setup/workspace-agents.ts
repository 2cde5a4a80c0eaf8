import { createWorkspaceAgent } from '../../src/cli/demo/workspace-agent.ts';

/** Agents file of workers that tests start as processes. */
export const agents = [createWorkspaceAgent(process.cwd())];
