import { expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { readJsonLines, runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';
import { isTrue, readStatements, type SourceRecord } from '../models/structural/stated-fields.ts';
import { calls, result, says, user } from './talks.ts';

interface Line {
  readonly messages: readonly Message[];
  readonly report: { readonly tokensBefore: number; readonly tokensAfter: number };
}

async function compact(messages: readonly unknown[], policy: string): Promise<Line> {
  const file = await writeTemporary('talks.jsonl', [{ id: 'talk', messages }]);
  const policyFile = await writeTemporary('policy.yaml', policy);
  const { code, stdout, stderr } = await runTurnfold(['compact', file, '--policy', policyFile, '--json']);
  expect({ code, stderr }).toStrictEqual({ code: 0, stderr: '' });
  return readJsonLines(stdout)[0] as unknown as Line;
}

function summaryOf({ messages }: Line): string {
  return messages.find(({ content }) => content.startsWith('<summary'))?.content ?? expect.unreachable('no summary');
}

const STATUSES = ['paid', 'draft', 'overdue', 'on hold'];
const CITIES = ['Oslo', 'Lagos', 'Kyoto'];
const invoices: readonly SourceRecord[] = Array.from({ length: 44 }, (_, at) => ({
  id: `INV-${8_700 + at}`,
  fields: { status: STATUSES[(at * 7) % 4] ?? '', city: CITIES[(at * 5) % 3] ?? '', amount: String((at * 37) % 90) },
}));

test.each([500, 800, 1_200])(
  'a compacted context of %i tokens contains no false statement about 44 invoices in one line of JSON',
  async (maxTokens) => {
    const content = JSON.stringify(
      invoices.map(({ id, fields }) => ({ id, ...fields, note: `Delivery ${id} to the north` })),
    );
    const messages = [
      user('List the invoices and tell me which are overdue.'),
      calls('c1', { year: 2026 }),
      result('c1', content),
      says('I have the list.'),
      user('Thanks. First: is the office open on 3 May?'),
      says('No, it is a Sunday.'),
      user('Which invoices are overdue?'),
    ];
    const line = await compact(messages, `token_threshold: 1600\nmax_tokens: ${maxTokens}`);
    const statements = readStatements(summaryOf(line));
    expect(statements.length).toBeGreaterThan(10);
    expect(statements.filter((one) => !isTrue(one, invoices))).toEqual([]);
  },
);

test('a compacted context of similar results about different hotels fills at least 70 % of its budget', async () => {
  const hotels = ['Linden', 'Maple', 'Cedar', 'Birch', 'Aspen', 'Rowan'].flatMap((name) => [
    `${name} Hotel`,
    `${name} Hotel Annex`,
  ]);
  const said = (name: string, at: number): string =>
    `${name}: pets are ${at % 3 === 0 ? '' : 'not '}allowed, ${at % 2 === 0 ? 'eight' : 'twenty'} minutes on foot from the station. Breakfast is included. The meeting room seats forty, but the projector is broken. Cancellation: free until three days before arrival, then the full price. The car park is on the second basement floor and must be booked ahead.`;
  const messages = [
    user('Help me choose a hotel. Pets must be allowed, at most ten minutes on foot from the station.'),
    ...hotels.flatMap((name, at) => [
      { ...calls(`c${at}`, { hotel: name }), content: `I will look up the ${name}.` },
      result(`c${at}`, said(name, at)),
    ]),
    says('The Linden Hotel meets both requirements.'),
    user('Then who is the contact of the Linden Hotel?'),
  ];
  const line = await compact(messages, 'token_threshold: 1000\nmax_tokens: 800');
  expect(line.report.tokensAfter).toBeGreaterThanOrEqual(560);
  expect(summaryOf(line)).toMatch(/Hotel(?: Annex)?: pets are (?:not )?allowed, (?:eight|twenty) minutes on foot/);
});

test.each([1.1, 1.25, 1.4])(
  'compacting a table of %d times the budget leaves a context that fills at least 70 %% of this budget',
  async (excess) => {
    const rows = Array.from({ length: 60 }, (_, at) => `INV-${1_000 + at},Customer ${at},${(at * 37) % 900}.50,open`);
    const messages = [
      user('List the invoices.'),
      calls('c1'),
      result('c1', rows.join('\n')),
      says('Here they are.'),
      user('Thanks. Which one is overdue?'),
    ];
    const whole = await compact(messages, 'token_threshold: 9000\nmax_tokens: 8000');
    const budget = Math.floor(whole.report.tokensBefore / excess);
    const { report } = await compact(messages, `token_threshold: ${budget}\nmax_tokens: ${budget}`);
    expect(report.tokensAfter / budget).toBeGreaterThanOrEqual(0.7);
    expect(report.tokensAfter).toBeLessThanOrEqual(budget);
  },
);

const script = (at: number): string => `sed -n '1,200p' truck${at}.ts`;
const code = (at: number): string =>
  Array.from({ length: 40 }, (_, line) => `import { crane${at}x${line} } from "./truck/crane${line}";\n);`).join('\n');

test.each([
  {
    name: 'a list of words',
    given: (at: number) => ({ command: ['bash', '-lc', script(at)], workdir: '/srv/desk' }),
    written: code,
  },
  {
    name: 'JSON around the output',
    given: (at: number) => ({ command: script(at) }),
    written: (at: number) => JSON.stringify({ output: code(at), metadata: { exit_code: 0 } }),
  },
])(
  'a compacted context shows each shell call as one command line without escape sequences: $name',
  async ({ given, written }) => {
    const rounds = Array.from({ length: 20 }, (_, at) => [
      calls(`c${at}`, given(at)),
      result(`c${at}`, written(at)),
    ]).flat();
    const messages = [
      user('Review the whole code base first.'),
      ...rounds,
      says('I have read all of it.'),
      user('Go on.'),
    ];
    const summary = summaryOf(await compact(messages, 'token_threshold: 6000\nmax_tokens: 3000'));
    const lines = summary.split('\n').filter((line) => line.startsWith('→ '));
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect(line).toMatch(/sed -n '1,200p' truck\d+\.ts/);
    expect(summary).toMatch(/import \{ crane\d+x\d+ \} from ".\/truck\/crane\d+";/);
    expect(summary).not.toMatch(/\\n|\\"/);
    expect(summary.split('\n').filter((line) => /^\W+$/.test(line))).toEqual([]);
  },
);
