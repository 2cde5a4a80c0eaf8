// A run of the OpenAI Agents SDK whose tool results grow past the window of its model. The model is scripted.
import { MemorySession, Runner } from '@openai/agents-core';
import { openaiAgentsFilter } from 'turnfold/compact';
import { STEPS, WINDOW } from './scripted-loop.ts';
import { ScriptedReader } from './scripted-reader.ts';

const { agent, requests } = new ScriptedReader((step) => (step === STEPS ? 'Invoices.' : undefined));
const session = new MemorySession();
const runner = new Runner({ tracingDisabled: true, callModelInputFilter: openaiAgentsFilter({ window: WINDOW }) });
const result = await runner.run(agent, 'Read all pages, and say what is in them.', { session, maxTurns: STEPS + 1 });
requests.report(result.finalOutput, (await session.getItems()).length);
