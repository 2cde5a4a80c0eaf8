/**
 * Asks the tool `recall` questions of an agent about its own past, made by code from recordings:
 * `node bench/context/asked/main.ts [--every 2 --offset 1] [--limits 1000,400] [--held-out FOLDER] [--out FILE]`.
 * The answer of each question left the context, and the question does not contain it. Figures are found answers of 100.
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { meanOf, meanOfFamilies } from '../measure.ts';
import { FAMILIES, readRecordings } from '../points.ts';
import { Corpus } from '../quality/corpus.ts';
import { type Table, toMarkdown } from '../tables.ts';
import { type Answered, askRecording } from './run.ts';

const { values } = parseArgs({
  options: {
    every: { type: 'string', default: '1' },
    offset: { type: 'string', default: '0' },
    limits: { type: 'string', default: '1000,400' },
    'held-out': { type: 'string' },
    out: { type: 'string' },
  },
});
const folder = values['held-out'];
const all = readRecordings(folder === undefined ? undefined : pathToFileURL(`${resolve(folder)}/`));
const limits = values.limits.split(',').map(Number);
const corpus = new Corpus(all);

const answered: Answered[] = [];
for (const [seed, recording] of all.entries()) {
  if (seed % Number(values.every) !== Number(values.offset)) continue;
  for await (const one of askRecording(recording, { corpus, seed, limits })) answered.push(one);
}
if (values.out !== undefined) writeFileSync(values.out, answered.map((one) => JSON.stringify(one)).join('\n'));
for (const limit of limits) {
  for (const isOther of [false, true]) {
    const own = answered.filter((one) => one.limit === limit && one.isOther === isOther);
    console.log(
      `\n${isOther ? 'other questions' : 'questions'}, answers of ${limit} tokens\n\n${toMarkdown(tabulate(own))}`,
    );
  }
}

function tabulate(asked: readonly Answered[]): Table {
  const percent = (share: number): string => (Number.isNaN(share) ? '–' : (100 * share).toFixed(1));
  const row = (name: string, own: readonly Answered[]): string[] => {
    const found = ({ isFound }: Answered): number => Number(isFound);
    const mean = (some: readonly Answered[]): string => (some.length === 0 ? '–' : percent(meanOf(some.map(found))));
    const byFamily = FAMILIES.map((family) => mean(own.filter((one) => one.family === family)));
    const byName = percent(meanOfFamilies(own, ({ isFoundByName }) => Number(isFoundByName)));
    return [name, String(own.length), percent(meanOfFamilies(own, found)), ...byFamily, byName];
  };
  const forms = [...Map.groupBy(asked, ({ form }) => form)];
  const header = ['form', 'questions', 'found', ...FAMILIES, 'by the exact name'];
  return { header, rows: [...forms.map(([form, own]) => row(form, own)), row('all', asked)] };
}
