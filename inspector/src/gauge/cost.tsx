import type { BreakdownAnswer } from '../../../src/api/contract/inspection.ts';
import { shortPrice, Tokens } from '../parts/figures.tsx';

/** Usage of the whole conversation so far: its turns and its summaries. */
export function Cost({ cost }: Pick<BreakdownAnswer, 'cost'>) {
  const { microdollars, inputTokens, cachedTokens, outputTokens } = cost;
  if (inputTokens === 0 && outputTokens === 0) {
    return (
      <section class="card cost" aria-label="Cost so far">
        <h2>Cost so far</h2>
        <p class="categories-empty">No model call has reported its usage.</p>
      </section>
    );
  }
  const cachedShare = inputTokens === 0 ? 0 : Math.round((100 * cachedTokens) / inputTokens);
  return (
    <section class="card cost" aria-label="Cost so far">
      <h2>Cost so far</h2>
      <dl>
        <dt>input</dt>
        <dd>
          <Tokens value={inputTokens - cachedTokens} />
        </dd>
        <dt>input from the cache</dt>
        <dd>
          <Tokens value={cachedTokens} /> <span class="gauge-share number">{cachedShare} %</span>
        </dd>
        <dt>output</dt>
        <dd>
          <Tokens value={outputTokens} />
        </dd>
        <dt>price</dt>
        <dd class="number">{microdollars === undefined ? 'not known' : shortPrice(microdollars)}</dd>
      </dl>
    </section>
  );
}
