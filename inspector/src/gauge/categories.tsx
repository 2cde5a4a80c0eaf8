import type { BreakdownAnswer } from '../../../src/api/contract/inspection.ts';
import { exactNumber, Tokens } from '../parts/figures.tsx';
import { linkToMessage } from '../shell/router.ts';
import { CATEGORY_NAMES } from './category-names.ts';

export interface CategoriesProps {
  readonly conversation: string;
  readonly breakdown: BreakdownAnswer;
}

/** The parts of the context. Each part opens to its five largest entries. */
export function Categories({ conversation, breakdown: { categories, window } }: CategoriesProps) {
  const shown = categories.filter(({ count }) => count > 0);
  return (
    <section class="card categories" aria-label="Parts of the context">
      <h2>What fills it</h2>
      {shown.length === 0 && <p class="categories-empty">The context is empty.</p>}
      {shown.map((category) => (
        <details key={category.name} class="category">
          <summary>
            <span class={`swatch c-${category.name}`} />
            <span class="category-name">{CATEGORY_NAMES[category.name]}</span>
            <span class="category-count number">{exactNumber(category.count)}</span>
            <span class="category-tokens">
              <Tokens value={category.tokens} />
            </span>
            <span class="category-share number">
              {Math.round((100 * category.tokens) / Math.max(1, window.usedTokens))} %
            </span>
          </summary>
          <ol class="largest">
            {category.largest.map((entry) => (
              <li key={`${entry.seq ?? ''}${entry.name ?? ''}${entry.start}`}>
                <Largest conversation={conversation} entry={entry} />
              </li>
            ))}
          </ol>
        </details>
      ))}
    </section>
  );
}

interface LargestProps {
  readonly conversation: string;
  readonly entry: BreakdownAnswer['categories'][number]['largest'][number];
}

function Largest({ conversation, entry: { seq, name, tokens, start } }: LargestProps) {
  const content = (
    <>
      <span class="largest-place mono">{seq === undefined ? name : `#${seq}`}</span>
      <bdi class="one-line">{start}</bdi>
      <Tokens value={tokens} />
    </>
  );
  if (seq === undefined) return <div class="largest-entry">{content}</div>;
  return (
    <a class="largest-entry" href={linkToMessage(conversation, seq)}>
      {content}
    </a>
  );
}
