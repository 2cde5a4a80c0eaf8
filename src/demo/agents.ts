import type { Agent } from '../domain/agent.ts';
import { createWorkspaceAgent } from './workspace-agent.ts';

/** Agents to try workers with: `turnfold worker --agents src/demo/agents.ts`. */
export const agents: readonly Agent[] = [createWorkspaceAgent(process.cwd())];
