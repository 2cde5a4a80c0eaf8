import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/domain/agent.ts';
import type { StepRecord } from '../../../src/domain/turn.ts';
import { type CallFacts, decideCall } from '../../../src/workers/turn/tool-calls.ts';

const input = z.object({ path: z.string(), lines: z.array(z.number()).optional() });
const run = async (): Promise<string> => 'ran';

const read = defineTool({ name: 'read', description: 'reads', input, run });
const pay = defineTool({ name: 'pay', description: 'pays', input, run, retry: 'never' });
const remove = defineTool({ name: 'remove', description: 'removes', input, run, needsApproval: true });
const ask = defineTool({ name: 'ask', description: 'asks a person', input, needsApproval: true });
const tools = [read, pay, remove, ask] as readonly Tool[];

const noFacts: CallFacts = { tools, steps: new Map(), answers: new Map(), waited: undefined, claimedAt: 5 };
const started = new Map<string, StepRecord>([['tool-c2_0', { status: 'started', at: 1 }]]);

function decide(name: string, facts: Partial<CallFacts> = {}, text = '{"path":"a.ts"}') {
  return decideCall({ id: 'c2_0', name, arguments: text }, { ...noFacts, ...facts });
}

function waitedFor(kind: 'tools' | 'approval', isFulfilled: boolean, ids = ['c2_0']): Partial<CallFacts> {
  const calls = ids.map((id) => ({ id, name: 'ask', arguments: '{}', until: 5 }));
  return { waited: { for: kind, step: 'model-1', since: 1, until: 5, calls, isFulfilled, steps: 0 } };
}

function refused(outcome: string, text: RegExp) {
  return { kind: 'answer', outcome, output: { isError: true, content: expect.stringMatching(text) } };
}

it('a worker runs an unanswered tool call with its parsed input', () => {
  expect(decide('read')).toMatchObject({ kind: 'run', tool: { name: 'read' }, input: { path: 'a.ts' } });
});

it('a call of an unknown tool is answered with a list of the available tools', () => {
  expect(decide('write')).toMatchObject(refused('unknown_tool', /^unknown_tool: .*"write".*read, pay, remove, ask/));
  expect(decide('write', { tools: [] })).toMatchObject(refused('unknown_tool', /Available tools: none/));
});

it.each([
  ['{"path":', /^invalid_input: arguments: not valid JSON/],
  ['{}', /^invalid_input: arguments\.path: /],
  ['', /^invalid_input: arguments\.path: /],
  ['{"path":"a","lines":[1,"two"]}', /^invalid_input: arguments\.lines\[1\]: /],
  ['[]', /^invalid_input: arguments: /],
])('a tool call with the arguments %j is answered by an error that names the invalid field', (text, why) => {
  expect(decide('read', {}, text)).toMatchObject(refused('invalid_input', why));
  expect(decide('remove', {}, text), 'and needs no approval').toMatchObject(refused('invalid_input', why));
  expect(decide('ask', {}, text), 'and waits for nobody').toMatchObject(refused('invalid_input', why));
});

it('a worker answers a tool call with an error if the schema of the tool throws', () => {
  const broken = z.object({}).refine(() => {
    throw new Error('broken');
  });
  const tool: Tool = { name: 'read', description: '', input: broken, run };
  expect(decide('read', { tools: [tool] }, '{}')).toMatchObject(refused('invalid_input', /schema threw an error/));
});

it('a worker runs a tool call again after a crash, unless the tool must not run twice', () => {
  expect(decide('read', { steps: started })).toMatchObject({ kind: 'run' });
  expect(decide('pay', { steps: started })).toMatchObject(refused('outcome_unknown', /may have taken effect/));
  expect(decide('pay')).toMatchObject({ kind: 'run' });
});

it('a tool call that needs approval waits for a person’s decision before it runs', () => {
  expect(decide('remove')).toEqual({ kind: 'wait', for: 'approval' });
});

it('a tool call that needs approval runs when it is approved, and runs again after a crash', () => {
  const answers = new Map([['c2_0', '{"approved":true}']]);
  expect(decide('remove', { answers })).toMatchObject({ kind: 'run' });
  expect(decide('remove', { answers, steps: started })).toMatchObject({ kind: 'run' });
});

it.each([
  ['{"approved":false,"why":"not on Fridays"}', /^denied: not on Fridays$/],
  ['{"approved":false}', /^denied: the call was not approved$/],
  ['{"approved":"yes"}', /^denied: the decision on the approval could not be read$/],
  ['yes', /^denied: the decision on the approval could not be read$/],
])('a tool call that needs approval is denied by the decision %s', (text, why) => {
  expect(decide('remove', { answers: new Map([['c2_0', text]]) })).toMatchObject(refused('denied', why));
});

it('a tool call that needs approval is denied after its own deadline, and not after that of another call', () => {
  expect(decide('remove', waitedFor('approval', false))).toMatchObject(refused('denied', /deadline/));
  expect(decide('remove', waitedFor('approval', false, ['c9_9']))).toMatchObject({ kind: 'wait' });
  expect(decide('remove', waitedFor('tools', false))).toMatchObject({ kind: 'wait' });
});

it('a call of a tool without a `run` function waits for a result from a caller, and needs no approval', () => {
  expect(decide('ask')).toEqual({ kind: 'wait', for: 'tools' });
});

it('a call of a tool without a `run` function gets the result that a caller sent', () => {
  const answers = new Map([['c2_0', '{"content":"blue"}']]);
  expect(decide('ask', { answers })).toEqual({ kind: 'answer', outcome: 'done', output: { content: 'blue' } });
  const failed = new Map([['c2_0', '{"content":"nobody there","isError":true}']]);
  expect(decide('ask', { answers: failed })).toMatchObject({ outcome: 'failed', output: { isError: true } });
});

it('a call of a tool without a `run` function is answered with an error if the caller’s result is unreadable', () => {
  const unreadable = ['blue', '{"text":"blue"}', 'null'];
  for (const text of unreadable) {
    const answers = new Map([['c2_0', text]]);
    expect(decide('ask', { answers })).toMatchObject(refused('invalid_result', /^invalid_result: /));
  }
});

it('a call of a tool without a `run` function times out at its deadline, unless a caller’s result arrived before', () => {
  expect(decide('ask', waitedFor('tools', false))).toMatchObject(refused('timeout', /deadline/));
  const answers = new Map([['c2_0', '{"content":"blue"}']]);
  expect(decide('ask', { ...waitedFor('tools', false), answers })).toMatchObject({ outcome: 'done' });
});
