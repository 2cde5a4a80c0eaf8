import { TurnfoldError } from '../../domain/errors.ts';
import type { ModelProfile } from '../../domain/model.ts';
import type { ModelAbilities, ModelOptions } from '../../domain/model-options.ts';
import data from './models.json' with { type: 'json' };

/** Model profiles by `provider/model`. Add profiles with `extendCatalogue`. */
export type Catalogue = ReadonlyMap<string, Omit<ModelProfile, 'id'>>;

/** A provider whose models are called through the Chat Completions API. */
interface CatalogueProvider {
  readonly baseUrl: string;
  /** Environment variable with the API key. */
  readonly keyVariable: string;
  readonly outputCapField?: NonNullable<ModelOptions['outputCapField']>;
}

type Facts = Partial<Omit<ModelProfile, 'id' | 'abilities'>> & { readonly abilities?: ModelAbilities };

/** Facts about models, with their sources. */
interface CatalogueData {
  /** Day on which the sources were read. */
  readonly readOn: string;
  readonly sources: Readonly<Record<string, string>>;
  readonly providers: Readonly<Record<string, CatalogueProvider>>;
  /** Facts that several models share. A model overrides single facts, and single abilities. */
  readonly families: Readonly<Record<string, Facts>>;
  readonly models: Readonly<Record<string, Facts & { readonly family: string; readonly sources: readonly string[] }>>;
}

/**
 * The facts of `models.json`. Prices are in US dollars per million tokens, `cacheWrite` for the shortest retention.
 * OpenAI's newer models limit input (922,000 or 272,000 tokens) and output: their window is the input limit plus the
 * reserve for output. Anthropic and others publish no tokenizer. Claude models up to 4.6 count 20 to 33 % more than
 * o200k_base (`tokenFactor` 1.25). Newer models count about 30 % more than those (1.6).
 */
export const CATALOGUE_DATA = data as unknown as CatalogueData;

export const CATALOGUE: Catalogue = new Map(
  Object.entries(CATALOGUE_DATA.models).map(([name, { family, sources: _, abilities, ...facts }]) => {
    const { abilities: shared, ...familyFacts } = CATALOGUE_DATA.families[family] ?? {};
    const profile = { ...familyFacts, ...facts, abilities: { ...shared, ...abilities } };
    return [name, profile as Omit<ModelProfile, 'id'>];
  }),
);

/** Returns the built-in catalogue with entries added or replaced. */
export function extendCatalogue(
  entries: Readonly<Record<string, Omit<ModelProfile, 'id'>>>,
  base: Catalogue = CATALOGUE,
): Catalogue {
  return new Map([...base, ...Object.entries(entries)]);
}

/**
 * Finds a profile also by a name with a date (`gpt-4o-2024-08-06`) or with a maker (`deepseek/deepseek-v4-pro`).
 * @throws invalid_config with the field
 */
export function findProfile(provider: string, model: string, catalogue: Catalogue = CATALOGUE): ModelProfile {
  const family = model.replace(/-\d{4}-?\d{2}-?\d{2}$/, '').replace(/-latest$/, '');
  const names = [`${provider}/${model}`, `${provider}/${family}`, ...(model.includes('/') ? [model, family] : [])];
  const found = names.map((name) => catalogue.get(name)).find((profile) => profile !== undefined);
  if (found !== undefined) return { ...found, id: model };
  const field = 'model';
  const all = [...catalogue.keys()];
  const known = all.filter((name) => name.startsWith(`${provider}/`));
  const wanted = provider === '' ? model : `${provider}/${model}`;
  throw new TurnfoldError(
    'invalid_config',
    `${field}: the model catalogue has no profile for ${wanted}. Pass a profile with windowTokens, outputCapTokens and encoding. Known models: ${(known.length > 0 ? known : all).join(', ')}`,
    { field },
  );
}
