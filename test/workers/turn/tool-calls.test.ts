import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/domain/agent.ts';
import type { AnswerKind, StepRecord, WaitingCall } from '../../../src/domain/turn.ts';
import { type CallFacts, decideCall } from '../../../src/workers/turn/tool-calls.ts';

const input = z.object({ path: z.string(), lines: z.array(z.number()).optional() });
const run = async (): Promise<string> => 'ran';

const read = defineTool({ name: 'read', description: 'reads', input, run });
const pay = defineTool({ name: 'pay', description: 'pays', input, run, retry: 'never' });
const remove = defineTool({ name: 'remove', description: 'removes', input, run, needsApproval: true });
const ask = defineTool({ name: 'ask', description: 'asks a person', input, needsApproval: true });
const tools = [read, pay, remove, ask] as readonly Tool[];

const noFacts: CallFacts = { tools, steps: new Map(), answers: new Map(), waits: new Map(), claimedAt: 5 };
const started = new Map<string, StepRecord>([['tool-c2_0', { status: 'started', at: 1 }]]);

function decide(name: string, facts: Partial<CallFacts> = {}, text = '{"path":"a.ts"}') {
  return decideCall({ id: 'c2_0', name, arguments: text }, { ...noFacts, ...facts });
}

/** Facts about a call that has waited until `until`, as its record says. */
function waited(kind: AnswerKind, call: Partial<WaitingCall> = {}, answer?: string): Partial<CallFacts> {
  const recorded = {
    id: 'c2_0',
    name: 'remove',
    arguments: '{"path":"a.ts"}',
    input: '{"path":"a.ts"}',
    until: 6,
    ...call,
  };
  return {
    waits: new Map([['c2_0', { for: kind, call: recorded }]]),
    answers: new Map(answer === undefined ? [] : [['c2_0', answer]]),
  };
}

const approved = (call?: Partial<WaitingCall>) => waited('approval', call, '{"approved":true}');

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
  const call = { id: 'c2_0', name: 'remove', arguments: '{"path":"a.ts"}', input: '{"path":"a.ts"}' };
  expect(decide('remove')).toEqual({ kind: 'wait', for: 'approval', call: { ...call, waitMs: 604_800_000 } });
  const waitsOn = { kind: 'wait', for: 'approval', call: { ...call, hash: 'h', waitMs: 1 } };
  expect(decide('remove', waited('approval', { hash: 'h' }))).toEqual(waitsOn);
});

it('a tool call that needs approval runs when it is approved, and runs again after a crash', () => {
  expect(decide('remove', approved())).toMatchObject({ kind: 'run' });
  expect(decide('remove', { ...approved(), steps: started })).toMatchObject({ kind: 'run' });
});

it.each([
  ['{"approved":false,"why":"not on Fridays"}', /^denied: not on Fridays$/],
  ['{"approved":false}', /^denied: the call was not approved$/],
  ['{"approved":"yes"}', /^denied: the decision on the approval could not be read$/],
  ['yes', /^denied: the decision on the approval could not be read$/],
])('a tool call that needs approval is denied by the decision %s', (text, why) => {
  expect(decide('remove', waited('approval', {}, text))).toMatchObject(refused('denied', why));
});

it('a tool call is decided at its recorded deadline: an approval is denied, and an outside call times out', () => {
  expect(decide('remove', waited('approval', { until: 5 }))).toMatchObject(refused('denied', /deadline/));
  expect(decide('ask', waited('tools', { until: 5 }))).toMatchObject(refused('timeout', /deadline/));
  expect(decide('ask', waited('tools', { until: 5 }, '{"content":"blue"}'))).toMatchObject({ outcome: 'done' });
});

const CHANGED: [string, readonly Tool[]][] = [
  ['needs no approval', [{ ...remove, needsApproval: false }]],
  ['has no run function', [{ ...remove, run: undefined } as unknown as Tool]],
  ['is gone', []],
  ['has another schema', [{ ...remove, input: z.object({ folder: z.string() }) }]],
  ['has another deadline', [{ ...remove, answerWithinMs: 1 }]],
];

it.each(CHANGED)('a recorded approval decides whether a call runs, although the tool now %s', (_, changed) => {
  expect(decide('remove', { ...waited('approval'), tools: changed })).toMatchObject({ kind: 'wait', for: 'approval' });
  const denied = waited('approval', {}, '{"approved":false}');
  expect(decide('remove', { ...denied, tools: changed })).toMatchObject(refused('denied', /not approved/));
});

it.each(CHANGED)(
  'a call that waits for an outside result accepts only that result, although its tool now %s',
  (_, changed) => {
    expect(decide('remove', { ...waited('tools'), tools: changed })).toMatchObject({ kind: 'wait', for: 'tools' });
    const brought = waited('tools', {}, '{"content":"blue"}');
    expect(decide('remove', { ...brought, tools: changed })).toMatchObject({ output: { content: 'blue' } });
  },
);

it('an approved call whose tool can no longer run gets an error result, and no other tool runs', () => {
  expect(decide('remove', { ...approved(), tools: [read] as readonly Tool[] })).toMatchObject(
    refused('unknown_tool', /^unknown_tool: the call was approved, but there is no tool "remove" any more/),
  );
  const outside = [{ ...remove, run: undefined }] as unknown as readonly Tool[];
  expect(decide('remove', { ...approved(), tools: outside })).toMatchObject(refused('unknown_tool', /no run function/));
  const begun = { ...approved(), tools: outside, steps: started };
  expect(decide('remove', begun)).toMatchObject(refused('outcome_unknown', /may have taken effect/));
});

it('an approved call runs with the recorded input, and no schema parses the input again', () => {
  const counted = defineTool({
    name: 'remove',
    description: '',
    input: z.object({ lines: z.number().transform((lines) => lines * 2) }),
    needsApproval: true,
    run,
  }) as Tool;
  const facts = { ...approved({ arguments: '{"lines":2}', input: '{"lines":4}' }), tools: [counted] };
  expect(decide('remove', facts)).toMatchObject({ kind: 'run', input: { lines: 4 } });
  const old = { ...approved({ arguments: '{"lines":2}' }), tools: [counted] };
  const { waits } = waited('approval', { arguments: '{"lines":2}', input: undefined });
  const asBefore = decide('remove', { ...old, waits: waits ?? new Map() }, '{"lines":2}');
  expect(asBefore, 'a record of an earlier release has no input').toMatchObject({ kind: 'run', input: { lines: 4 } });
});

it.each([
  ['a Date', z.string().transform((text) => new Date(text)), '"2026-01-01T00:00:00Z"', '2026-01-01T00:00:00.000Z'],
  [
    'a Map',
    z.record(z.string(), z.number()).transform((all) => new Map(Object.entries(all))),
    '{"a":1}',
    "Map(1) { 'a' => 1 }",
  ],
  ['a bigint', z.string().transform(BigInt), '"12"', '12n'],
  ['undefined', z.string().transform(() => undefined), '"x"', 'undefined'],
  ['a class', z.string().transform((text) => new URL(text)), '"http://x.y/z"', 'http://x.y/z'],
])(
  'an input with %s is shown as text, and runs only if it is still parsed to the approved text',
  (_, value, json, shown) => {
    const remover = { ...remove, input: z.object({ value }) } as unknown as Tool;
    const text = `{"value":${json}}`;
    const asked = decide('remove', { tools: [remover] }, text);
    if (asked.kind !== 'wait') throw new Error('the call does not wait');
    expect(asked.call).toMatchObject({ isShownOnly: true, input: expect.stringContaining(shown) });
    const facts = approved({ ...asked.call, until: 6 });
    const ran = decide('remove', { ...facts, tools: [remover] }, text);
    expect(ran).toMatchObject({ kind: 'run', input: { value: value.parse(JSON.parse(json)) } });
    const changed = { ...remove, input: z.object({ value: z.unknown().transform(() => 'other') }) } as unknown as Tool;
    expect(decide('remove', { ...facts, tools: [changed] }, text)).toMatchObject(
      refused('invalid_input', /no longer makes the input that was approved/),
    );
  },
);

it('a call whose input is too large to be shown does not wait for approval, and is refused without running', () => {
  const huge = z.object({ path: z.string().transform((text) => text.repeat(2_000_000)) });
  const remover = { ...remove, input: huge } as unknown as Tool;
  expect(decide('remove', { tools: [remover] })).toMatchObject(
    refused('invalid_input', /more than 1048576 characters/),
  );
});

it('a call of a tool without a `run` function waits for a result from a caller, and needs no approval', () => {
  expect(decide('ask')).toMatchObject({ kind: 'wait', for: 'tools' });
});

it('a call of a tool without a `run` function gets the result that a caller sent', () => {
  const done = decide('ask', waited('tools', {}, '{"content":"blue"}'));
  expect(done).toEqual({ kind: 'answer', outcome: 'done', output: { content: 'blue' } });
  const failed = waited('tools', {}, '{"content":"nobody there","isError":true}');
  expect(decide('ask', failed)).toMatchObject({ outcome: 'failed', output: { isError: true } });
});

it('a call of a tool without a `run` function is answered with an error if the caller’s result is unreadable', () => {
  for (const text of ['blue', '{"text":"blue"}', 'null']) {
    expect(decide('ask', waited('tools', {}, text))).toMatchObject(refused('invalid_result', /^invalid_result: /));
  }
});
