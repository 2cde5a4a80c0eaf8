// A chat of the OpenAI Agents SDK, whose runs share a session that grows past the window. The model is scripted.
import { MemorySession, Runner } from '@openai/agents-core';
import { openaiAgentsSession } from 'turnfold/compact';
import { STEPS, WINDOW } from './scripted-loop.ts';
import { ScriptedReader } from './scripted-reader.ts';

/** Each run has a call and an answer. */
const { agent, requests } = new ScriptedReader((step, lastType) => {
  if (lastType !== 'function_call_result') return undefined;
  return step === STEPS ? 'Invoices.' : `Page ${step - 1} has thirty invoices.`;
});
const store = new MemorySession();
const session = openaiAgentsSession(store, { window: WINDOW });
const runner = new Runner({ tracingDisabled: true });
let answer: string | undefined;
for (let run = 1; run <= STEPS / 2; run += 1)
  answer = (await runner.run(agent, `Read page ${run}, and say what is in it.`, { session })).finalOutput;
requests.report(answer, (await store.getItems()).length);
