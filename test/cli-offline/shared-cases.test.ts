/** Small inputs from use, each standing for a kind, read from `../shared/cases/context`. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { compactApp } from '../../src/api/http/compact/compact-app.ts';
import type { Message } from '../../src/domain/message.ts';
import { statesOutputCap, statesOverflow } from '../../src/providers/overflow-text.ts';
import { readJsonLines, runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { isTrue, readStatements, type SourceRecord } from '../models/structural/stated-fields.ts';

const folder = new URL('../../../shared/cases/context/', import.meta.url);
const caseFile = (name: string): string => fileURLToPath(new URL(name, folder));
const readCase = (name: string): string => readFileSync(caseFile(name), 'utf8');

interface Line {
  readonly messages: readonly Message[];
  readonly notes?: readonly unknown[];
  readonly report: { readonly kind: string; readonly tokensAfter: number };
}

async function compact(name: string, policy?: string): Promise<Line> {
  const policyFile = policy?.includes(':') === true ? await writeTemporary('policy.yaml', policy) : policy;
  const args =
    policyFile === undefined ? [] : ['--policy', policyFile.startsWith('/') ? policyFile : caseFile(policyFile)];
  const { code, stdout, stderr } = await runTurnfold(['compact', '--json', ...args, caseFile(name)]);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return readJsonLines(stdout)[0] as unknown as Line;
}

const textOf = ({ messages }: Line): string => messages.map(({ content }) => content).join('\n');
const rolesOf = ({ messages }: Line): string[] => messages.map(({ role }) => role);
const callsOf = ({ messages }: Line): string[] =>
  messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));

async function replay(name: string, policy: string): Promise<string> {
  const { code, stdout } = await runTurnfold(['replay', '--json', '--policy', caseFile(policy), caseFile(name)]);
  expect(code).toBe(0);
  return stdout;
}

describe.skipIf(!existsSync(folder))('conversations from practice (skipped without ../shared/cases/context)', () => {
  test.each(['01-anthropic-tool-blocks.jsonl', '01b-anthropic-server-tools.jsonl'])(
    'turnfold compact keeps every call and result of %s',
    async (name) => {
      const line = await compact(name);
      const given = readCase(name).match(/"type":"(?:server_)?tool_use"/g) ?? [];
      expect(callsOf(line)).toHaveLength(given.length);
      expect(rolesOf(line).filter((role) => role === 'tool')).toHaveLength(given.length);
      expect(textOf(line)).not.toContain('is not shown');
      expect(textOf(line)).not.toMatch(/search\.It/);
    },
  );

  test('case 02: compact puts system reminders first, and keeps user messages, a summary and a tail', async () => {
    const line = await compact('02-system-reminders.jsonl', '02-policy.yaml');
    expect(line.report).toMatchObject({ kind: 'summarize' });
    expect(line.report.tokensAfter).toBeLessThanOrEqual(3_000);
    expect(textOf(line)).toContain('<summary');
    expect(rolesOf(line).filter((role) => role === 'user').length).toBeGreaterThan(2);
    expect(line.messages.findLast(({ role }) => role === 'system')?.content).toContain('turn="149"');
    const [replayed] = readJsonLines(await replay('02-system-reminders.jsonl', '02-policy.yaml'));
    expect(replayed).toMatchObject({ overLimit: 0, invalid: 0 });
  });

  test('case 02b: compact keeps a later developer message in its place', async () => {
    expect(rolesOf(await compact('02b-developer-mid.jsonl'))).toEqual(
      'system user assistant system user assistant system user'.split(' '),
    );
  });

  test('case 05: a provider’s refusal is classified by the meaning of its words', () => {
    type Named = readonly [string, { readonly message: string }];
    const cases = JSON.parse(readCase('05-overflow-texts.json')) as Record<'overflow' | 'setting' | 'invalid', Named[]>;
    const told = (list: readonly Named[]) =>
      list.map(([, { message }]) => [statesOverflow(message), statesOutputCap(message)]);
    expect(told(cases.overflow)).toEqual(cases.overflow.map(() => [true, false]));
    expect(told(cases.setting)).toEqual(cases.setting.map(() => [false, true]));
    expect(told(cases.invalid)).toEqual(cases.invalid.map(() => [false, false]));
  });

  test.each([500, 800, 1_200])(
    'case 06: at %i tokens, compact states nothing false about a record',
    async (maxTokens) => {
      const invoices = JSON.parse(readCase('06-truth.json')) as Readonly<Record<string, unknown>>[];
      const records = invoices.map(
        ({ id, ...fields }): SourceRecord => ({
          id: String(id),
          // The reader of statements takes the integer part of a number.
          fields: Object.fromEntries(
            Object.entries(fields).map(([key, value]) => [key, String(value).replace(/\.\d+$/, '')]),
          ),
        }),
      );
      const line = await compact('06-splice-json.jsonl', `token_threshold: ${2 * maxTokens}\nmax_tokens: ${maxTokens}`);
      const statements = readStatements(textOf(line));
      expect(statements.length).toBeGreaterThan(10);
      expect(statements.filter((one) => !isTrue(one, records))).toEqual([]);
    },
  );

  test.each([
    ['08-responses-custom-tool.json', ['apply_patch', 'src/m3.rs']],
    [
      '08b-responses-mcp-shell-search.json',
      ['get_issue', 'broken since 3f2a91c', 'cargo test -p alpha-7', 'E0502 borrow in loop'],
    ],
    ['08c-responses-computer.json', ['picture']],
  ])('the HTTP route for compaction keeps the calls of %s', async (name, named) => {
    const app = compactApp({ authenticate: 'none' });
    const body = JSON.stringify({ ...(JSON.parse(readCase(name)) as object), max_tokens: 200 });
    const headers = { 'content-type': 'application/json' };
    const answer = await app.fetch(
      new Request('http://127.0.0.1/v1/responses/compact', { method: 'POST', headers, body }),
    );
    const text = await answer.text();
    expect(answer.status, text).toBe(200);
    for (const one of named) expect(text).toContain(one);
  });

  test.each(['09-refusal-field.jsonl', '09b-refusal-part.jsonl'])(
    'turnfold compact keeps the text of the refusal in %s',
    async (name) => {
      expect(textOf(await compact(name))).toContain('I will not write malware');
    },
  );

  test('case 11: compact keeps reasoning and the names of users', async () => {
    expect(JSON.stringify(await compact('11-reasoning-content.jsonl'))).toContain('2+3=5');
    const named = JSON.stringify(await compact('11b-user-name.jsonl'));
    for (const name of ['Ines', 'Tomas']) expect(named).toContain(name);
  });

  test.each(['12-hotel-en.jsonl', '12b-hotel-zh.jsonl'])(
    'turnfold compact fills the budget with the conversation %s',
    async (name) => {
      expect((await compact(name, '12-policy.yaml')).report.tokensAfter).toBeGreaterThanOrEqual(1_050);
    },
  );

  test('case 14: compact and replay accept a call without a result, and count no request as invalid', async () => {
    const line = await compact('14-dangling-one.jsonl', '14-policy.yaml');
    expect(line.report.tokensAfter).toBeLessThanOrEqual(1_500);
    const [replayed] = readJsonLines(await replay('14-dangling-one.jsonl', '14-policy.yaml'));
    expect(replayed).toMatchObject({ overLimit: 0, invalid: 0 });
  });

  test('case 15: compact shows a call as a command line, and decodes JSON results before it shortens them', async () => {
    const argv = textOf(await compact('15-codex-argv.jsonl', '15-policy.yaml'));
    expect(argv).not.toMatch(/shell command: bash,?$/m);
    const whole = readCase('15b-json-output.jsonl');
    const { messages } = await compact('15b-json-output.jsonl', '15-policy.yaml');
    // A message that stays whole stays as it was.
    const changed = messages.filter(({ content }) => !whole.includes(JSON.stringify(content)));
    const json = changed.map(({ content }) => content).join('\n');
    expect(json.split('\n').filter((line) => /\\n|\\"/.test(line))).toEqual([]);
  });

  test.each([
    'g1-ai-sdk-model-messages',
    'g1-args-null',
    'g1-audio-part',
    'g1-duplicate-result',
    'g1-function-role',
    'g1-langchain-role',
    'g1-ollama-native',
    'g1-result-before-call',
    'g1-same-ids-parallel',
    'g1-tool-null-content',
  ])('turnfold compact reads %s with all its calls', async (name) => {
    const line = await compact(`${name}.jsonl`);
    const ids = callsOf(line);
    expect(new Set(ids).size).toBe(ids.length);
    const given =
      readCase(`${name}.jsonl`).match(/"tool-call"|"function_call"|"function":\{|"type":"tool_call"/g) ?? [];
    expect(ids).toHaveLength(given.length);
    expect(line.messages.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId)).toEqual(ids);
  });
});
