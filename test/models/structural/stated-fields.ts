import * as fc from 'fast-check';

/** A record of a source: its identity and what it says. */
export interface SourceRecord {
  readonly id: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** A text of records in one form, and how many of its statements can be read from a part of it. */
export interface RecordForm {
  readonly name: string;
  readonly write: (records: readonly SourceRecord[]) => string;
}

const KEYS = ['customer', 'status', 'clerk', 'amount', 'city'] as const;
const VALUES: Readonly<Record<(typeof KEYS)[number], fc.Arbitrary<string>>> = {
  customer: fc.constantFrom('Alba Freight', 'Fjord Salt', 'Kestrel Air', 'Dunes Hotel', 'Gable Roofs'),
  status: fc.constantFrom('paid', 'draft', 'overdue', 'on hold'),
  clerk: fc.constantFrom('R. Oyelaran', 'S. Brandt', 'T. Mori'),
  amount: fc.integer({ min: 1, max: 9_999 }).map(String),
  city: fc.constantFrom('Oslo', 'Lagos', 'Kyoto', 'Quito'),
};

/** Records of 2 to 40 different identities. */
export const anyRecords: fc.Arbitrary<readonly SourceRecord[]> = fc
  .array(fc.record(VALUES), { minLength: 2, maxLength: 40 })
  .chain((all) =>
    fc
      .integer({ min: 1_000, max: 8_000 })
      .map((first) => all.map((fields, at) => ({ id: `INV-${first + at}`, fields }))),
  );

const pairs = ({ fields }: SourceRecord): [string, string][] => Object.entries(fields);
const rowOf = (cells: readonly string[], separator: string): string => cells.join(separator);
const asObject = (record: SourceRecord) => ({ id: record.id, ...record.fields });
const note = 'The customer was called twice about the delivery, which was late because of the weather. '.repeat(3);

const SIMPLE: readonly RecordForm[] = [
  { name: 'compact JSON', write: (all) => JSON.stringify(all.map(asObject)) },
  {
    name: 'indented JSON',
    write: (all) => JSON.stringify({ total: all.length, invoices: all.map(asObject) }, null, 2),
  },
  {
    name: 'JSON by identity',
    write: (all) => JSON.stringify(Object.fromEntries(all.map((one) => [one.id, one.fields]))),
  },
  {
    name: 'nested JSON',
    write: (all) => JSON.stringify(all.map(({ id, fields }) => ({ meta: { of: fields }, note, id }))),
  },
  {
    name: 'JSON in a string',
    write: (all) => JSON.stringify([{ type: 'text', text: JSON.stringify(all.map(asObject)) }]),
  },
  { name: 'lines of JSON', write: (all) => all.map((one) => JSON.stringify(asObject(one))).join('\n') },
  { name: 'JSON that is cut off', write: (all) => JSON.stringify(all.map(asObject)).slice(0, -30) },
  {
    name: "Python's literals",
    write: (all) =>
      `[${all
        .map(
          (one) =>
            `{${Object.entries(asObject(one))
              .map(([key, value]) => `'${key}': '${value}'`)
              .join(', ')}}`,
        )
        .join(', ')}]`,
  },
  {
    name: 'prose',
    write: (all) =>
      all
        .map(({ id, fields }) =>
          [
            `Invoice ${id} is in the list of this week, as it was agreed.`,
            ...Object.entries(fields).map(([key, value]) => `Its ${key} is given as "${value}" in the books.`),
            note,
          ].join(' '),
        )
        .join('\n\n'),
  },
  {
    name: 'prose over several lines',
    write: (all) =>
      all
        .map(({ id, fields }) =>
          [
            `Invoice ${id} is in the list of this week, as it was agreed.`,
            ...Object.entries(fields).map(([key, value]) => `Its ${key} is given as "${value}" in the books.`),
          ].join('\n'),
        )
        .join('\n\n'),
  },
  {
    name: 'blocks of pairs',
    write: (all) =>
      all
        .map((one) => [`Invoice: ${one.id}`, ...pairs(one).map(([key, value]) => `${key}: ${value}`)].join('\n'))
        .join('\n\n'),
  },
  {
    name: 'pairs without blank lines',
    write: (all) =>
      all
        .map((one) => [`Invoice: ${one.id}`, ...pairs(one).map(([key, value]) => `${key}: ${value}`)].join('\n'))
        .join('\n'),
  },
  {
    name: 'a YAML list',
    write: (all) =>
      [
        'invoices:',
        ...all.flatMap((one) => [`  - id: ${one.id}`, ...pairs(one).map(([key, value]) => `    ${key}: ${value}`)]),
      ].join('\n'),
  },
  {
    name: 'YAML by identity',
    write: (all) =>
      all.flatMap((one) => [`${one.id}:`, ...pairs(one).map(([key, value]) => `  ${key}: ${value}`)]).join('\n'),
  },
  {
    name: 'Markdown sections',
    write: (all) =>
      all
        .map((one) => [`## ${one.id}`, '', ...pairs(one).map(([key, value]) => `- **${key}**: ${value}`)].join('\n'))
        .join('\n\n'),
  },
  {
    name: 'CSV',
    write: (all) =>
      [
        rowOf(['id', ...KEYS], ','),
        ...all.map((one) => rowOf([one.id, ...KEYS.map((key) => one.fields[key] ?? '')], ',')),
      ].join('\n'),
  },
  {
    name: 'a Markdown table',
    write: (all) =>
      [
        `| ${rowOf(['id', ...KEYS], ' | ')} |`,
        `|${'---|'.repeat(KEYS.length + 1)}`,
        ...all.map((one) => `| ${rowOf([one.id, ...KEYS.map((key) => one.fields[key] ?? '')], ' | ')} |`),
      ].join('\n'),
  },
  {
    name: 'a log',
    write: (all) =>
      all
        .map(
          (one) =>
            `2026-05-17T10:12:13Z INFO invoice=${one.id} ${pairs(one)
              .map(([key, value]) => `${key}="${value}"`)
              .join(' ')}`,
        )
        .join('\n'),
  },
  {
    name: 'a log with details',
    write: (all) =>
      all
        .map((one) =>
          [
            `2026-05-17T10:12:13Z INFO read ${one.id}`,
            ...pairs(one).map(([key, value]) => `    ${key}: ${value}`),
          ].join('\n'),
        )
        .join('\n'),
  },
];

/** Forms in which a line, a sentence or an element of each record repeats. */
const REPEATED: readonly RecordForm[] = [
  {
    name: 'an INI file',
    write: (all) =>
      all
        .map((one) => [`[invoice "${one.id}"]`, ...pairs(one).map((pair) => pair.join(' = '))].join('\n'))
        .join('\n\n'),
  },
  {
    name: 'TOML',
    write: (all) =>
      all
        .map((one) =>
          ['[[invoices]]', `id = "${one.id}"`, ...pairs(one).map(([key, value]) => `${key} = "${value}"`)].join('\n'),
        )
        .join('\n\n'),
  },
  {
    name: 'rows of psql in columns',
    write: (all) =>
      all
        .map((one, at) =>
          [
            `-[ RECORD ${at + 1} ]------`,
            `id       | ${one.id}`,
            ...pairs(one).map(([key, value]) => `${key.padEnd(9)}| ${value}`),
          ].join('\n'),
        )
        .join('\n'),
  },
  {
    name: 'rows of mysql in columns',
    write: (all) =>
      all
        .map((one, at) =>
          [
            `******** ${at + 1}. row ********`,
            `       id: ${one.id}`,
            ...pairs(one).map(([key, value]) => `${key.padStart(9)}: ${value}`),
          ].join('\n'),
        )
        .join('\n'),
  },
  {
    name: 'a calendar',
    write: (all) =>
      all
        .map((one) =>
          ['BEGIN:VINVOICE', `UID:${one.id}`, ...pairs(one).map((pair) => pair.join(':')), 'END:VINVOICE'].join('\n'),
        )
        .join('\n'),
  },
  {
    name: 'stack traces',
    write: (all) =>
      all
        .map((one) =>
          [`ERROR invoice ${one.id} failed`, ...pairs(one).map((pair) => `    at ${pair.join('=')}`)].join('\n'),
        )
        .join('\n'),
  },
  {
    name: 'a tree',
    write: (all) =>
      `.\n${all.map((one) => [`├── ${one.id}`, ...pairs(one).map((pair) => `│   ├── ${pair.join('=')}`)].join('\n')).join('\n')}`,
  },
  {
    name: 'prose in one paragraph',
    write: (all) =>
      all
        .map((one) =>
          [
            `Invoice ${one.id} is in the list of this week.`,
            ...pairs(one).map(([key, value]) => `Its ${key} is given as "${value}" in the books.`),
          ].join(' '),
        )
        .join(' '),
  },
  {
    name: 'prose without blank lines',
    write: (all) =>
      all
        .map((one) =>
          [
            `Invoice ${one.id} is in the list of this week.`,
            ...pairs(one).map(([key, value]) => `Its ${key} is given as "${value}" in the books.`),
          ].join('\n'),
        )
        .join('\n'),
  },
  {
    name: 'e-mails',
    write: (all) =>
      all
        .map((one) =>
          [
            'From: clerk@x.example',
            `Subject: ${one.id}`,
            '',
            'Dear all,',
            '',
            ...pairs(one).map(([key, value]) => `the ${key} is given as "${value}".\n`),
          ].join('\n'),
        )
        .join('\n'),
  },
  {
    name: 'a table of HTML over several lines',
    write: (all) =>
      `<table>\n${all.map((one) => ['<tr>', `  <td>${one.id}</td>`, ...pairs(one).map((pair) => `  <td>${pair.join(': ')}</td>`), '</tr>'].join('\n')).join('\n')}\n</table>`,
  },
  {
    name: 'XML in one line',
    write: (all) =>
      `<invoices>${all
        .map(
          (one) =>
            `<invoice><id>${one.id}</id>${pairs(one)
              .map(([key, value]) => `<${key}>${value}</${key}>`)
              .join('')}</invoice>`,
        )
        .join('')}</invoices>`,
  },
  {
    name: 'XML with indentation',
    write: (all) =>
      `<invoices>\n${all.map((one) => [`  <invoice id="${one.id}">`, ...pairs(one).map(([key, value]) => `    <${key}>${value}</${key}>`), '  </invoice>'].join('\n')).join('\n')}\n</invoices>`,
  },
  {
    name: 'blocks between rules',
    write: (all) =>
      all
        .map((one) => [`Invoice ${one.id}`, ...pairs(one).map((pair) => pair.join(': '))].join('\n'))
        .join('\n----------\n'),
  },
];

export const FORMS: readonly RecordForm[] = [...SIMPLE, ...REPEATED];

/** A field with its value, as a reader understands it: said of the identity that was named last. */
export interface Statement {
  readonly id: string | undefined;
  readonly key: string;
  readonly value: string;
}

const IDENTITY = /INV-\d{4}/;
const TOKEN = new RegExp(
  `(?<id>INV-\\d{4})|["'*]{0,2}(?<key>${KEYS.join('|')})["'*]{0,2}(?: is given as |\\s?[:=]\\s?|\\s*(?<=^\\w+\\s*)\\| |>)["']?(?<value>[A-Z]\\. [A-Z][a-z]+|on hold|[A-Za-z]+(?: [A-Z][a-z]+)?|\\d+)`,
  'g',
);

/** Reads a text as a person would. A table is read by its header. */
export function readStatements(text: string): Statement[] {
  const statements: Statement[] = [];
  let id: string | undefined;
  let header: string[] | undefined;
  for (const line of text.split('\n')) {
    const separator = line.includes(' | ') ? ' | ' : ',';
    const cells = line
      .replace(/^[← |…]+|[ |…]+$/gu, '')
      .split(separator)
      .map((cell) => cell.trim());
    if (KEYS.every((key) => cells.includes(key))) header = cells;
    else if (header !== undefined && cells.length === header.length && IDENTITY.test(cells[0] ?? '')) {
      const [own] = cells;
      for (const [at, value] of cells.entries()) if (at > 0) statements.push({ id: own, key: header[at] ?? '', value });
      continue;
    } else if (header !== undefined && cells.length > 3) statements.push({ id: undefined, key: 'row', value: line });
    for (const { groups } of line.matchAll(TOKEN)) {
      if (groups?.['id'] !== undefined) id = groups['id'];
      else statements.push({ id, key: groups?.['key'] ?? '', value: groups?.['value'] ?? '' });
    }
  }
  return statements;
}

export function isTrue({ id, key, value }: Statement, records: readonly SourceRecord[]): boolean {
  return records.some((record) => record.id === id && record.fields[key] === value);
}
