// Agents of a process that runs one suspect. It has the environment of its worker.
import { createAgent } from './agent.ts';

export const agents = [createAgent(process.env['CHAOS_PROVIDER'] ?? '', Number(process.env['CHAOS_RELEASE']))];
