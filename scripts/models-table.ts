import type { ModelPrices, ModelProfile } from '../src/domain/model.ts';
import { CATALOGUE, CATALOGUE_DATA } from '../src/providers/catalogue/catalogue.ts';

type Profile = Omit<ModelProfile, 'id'>;
type Column = readonly [head: string, write: (profile: Profile) => string];

const LIMITS: readonly Column[] = [
  ['window', ({ windowTokens }) => grouped(windowTokens)],
  ['output cap', ({ outputCapTokens }) => grouped(outputCapTokens)],
  ['token factor', ({ tokenFactor = 1 }) => String(tokenFactor)],
  ['input / cached / cache write / output', ({ prices }) => (prices === undefined ? '' : writePrices(prices))],
  ['retires', ({ retiresOn }) => retiresOn ?? ''],
];

const OPTIONS: readonly Column[] = [
  ['`thinking`', ({ abilities }) => list(abilities?.thinking)],
  ['absent', ({ abilities }) => abilities?.defaultThinking ?? ''],
  ['`effort`', ({ abilities }) => list(abilities?.efforts)],
  ['absent', ({ abilities }) => abilities?.defaultEffort ?? ''],
  ['`temperature`, `topP`', ({ abilities }) => words(abilities?.sampling)],
  ['forced tools', ({ abilities }) => (abilities?.forcedTools === false ? 'never' : '')],
  ['held to a schema', ({ abilities }) => (abilities?.structured === true ? 'yes' : '')],
  ['reads', ({ abilities }) => ['text', ...(abilities?.inputs ?? [])].join(', ')],
  ['tools in Chat Completions', ({ abilities }) => words(abilities?.chatTools)],
];

/** Tables of the catalogue for docs/reference/models.md. */
export function tabulateModels(): string {
  const sources = Object.entries(CATALOGUE_DATA.sources).map(([name, address]) => `- ${name}: ${address}`);
  return [
    '### Windows and prices',
    writeTable(LIMITS),
    '### Accepted options',
    writeTable(OPTIONS),
    '### Sources',
    `Read on ${CATALOGUE_DATA.readOn}. \`src/providers/catalogue/models.json\` names the sources of each model.`,
    sources.join('\n'),
  ].join('\n\n');
}

function writeTable(columns: readonly Column[]): string {
  const head = ['model', ...columns.map(([name]) => name)];
  const rows = [...CATALOGUE].map(([name, profile]) => [`\`${name}\``, ...columns.map(([, write]) => write(profile))]);
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function writePrices({ steps = [], ...base }: ModelPrices): string {
  const write = ({ input, cachedInput, cacheWrite, output }: Omit<ModelPrices, 'steps'>): string =>
    [input, cachedInput, cacheWrite, output].join(' / ');
  const more = steps.map((step) => `above ${grouped(step.aboveInputTokens)}: ${write(step)}`);
  return [write(base), ...more].join(', ');
}

function grouped(tokens: number): string {
  return tokens.toLocaleString('en-US');
}

function list(values: readonly string[] | undefined): string {
  return values?.length === 0 ? 'none' : words(values?.join(', '));
}

function words(value = ''): string {
  return value.replaceAll('_', ' ');
}
