import type { BreakdownAnswer } from '../../../src/api/contract/inspection.ts';
import { exactNumber, shortTokens, Tokens } from '../parts/figures.tsx';
import { placeTicks, type Tick } from './ticks.ts';

type GaugeWindow = BreakdownAnswer['window'];

export function Gauge({ breakdown }: { readonly breakdown: BreakdownAnswer }) {
  const { window, thresholds, categories } = breakdown;
  const span = spanOf(breakdown);
  const percent = (tokens: number): string => `${(100 * tokens) / span}%`;
  const ticks = placeTicks(thresholds, span);
  return (
    <section class="gauge card" aria-label="Context window">
      <Figures window={window} />
      {window.maxTokens === undefined && <p class="gauge-share">No worker has recorded the window of the model yet.</p>}
      <div class="gauge-scale">
        <div class="gauge-bar" role="img" aria-label={describe(breakdown)}>
          {categories
            .filter(({ tokens }) => tokens > 0)
            .map(({ name, tokens }) => (
              <span
                key={name}
                class={`gauge-part c-${name}`}
                style={{ inlineSize: percent(tokens) }}
                title={`${CATEGORY_NAMES[name]}: ${exactNumber(tokens)} tokens`}
              />
            ))}
          {window.reservedTokens !== undefined && window.maxTokens !== undefined && (
            <span
              class="gauge-reserved"
              style={{ inlineSize: percent(window.reservedTokens) }}
              title={`Reserved for the answer: ${exactNumber(window.reservedTokens)} tokens`}
            />
          )}
        </div>
        {ticks.map((tick) => (
          <ThresholdTick
            key={tick.name}
            tick={tick}
            left={percent(tick.tokens)}
            isReached={tick.name !== 'maxTokens' && window.usedTokens >= tick.tokens}
          />
        ))}
        {window.providerTokens !== undefined && window.providerTokens <= span && (
          <span
            class="gauge-provider"
            style={{ insetInlineStart: percent(window.providerTokens) }}
            title={`Counted by the provider, later messages by turnfold: ${exactNumber(window.providerTokens)} tokens`}
          />
        )}
      </div>
      <ul class="gauge-legend" aria-label="Thresholds">
        {ticks.toReversed().map(({ name, tokens }) => (
          <li key={name}>
            {THRESHOLD_NAMES[name]} at <span class="number">{shortTokens(tokens)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Returns the tokens at the end of the bar. Without a known window, the bar ends behind its last mark. */
function spanOf({ window, thresholds }: BreakdownAnswer): number {
  if (window.maxTokens !== undefined) return Math.max(window.maxTokens, window.usedTokens, 1);
  const marks = [window.usedTokens, window.providerTokens ?? 0, ...thresholds.map(({ tokens }) => tokens)];
  return Math.max(1, ...marks) * 1.1;
}

function Figures({ window }: { readonly window: GaugeWindow }) {
  const { maxTokens, reservedTokens, usedTokens, providerTokens, freeTokens } = window;
  return (
    <dl class="gauge-figures">
      <Figure label="used" tokens={usedTokens} isMain>
        {maxTokens !== undefined && (
          <span class="gauge-share number">
            {' '}
            of {shortTokens(maxTokens)} · {Math.round((100 * usedTokens) / maxTokens)} %
          </span>
        )}
      </Figure>
      {providerTokens !== undefined && (
        <Figure label="counted by the provider, later messages by turnfold" tokens={providerTokens}>
          <span class="gauge-share number"> {difference(providerTokens, usedTokens)}</span>
        </Figure>
      )}
      {freeTokens !== undefined && <Figure label="free" tokens={freeTokens} />}
      {reservedTokens !== undefined && <Figure label="reserved for the answer" tokens={reservedTokens} />}
    </dl>
  );
}

interface FigureProps {
  readonly label: string;
  readonly tokens: number;
  readonly isMain?: boolean;
  readonly children?: preact.ComponentChildren;
}

function Figure({ label, tokens, isMain = false, children }: FigureProps) {
  return (
    <div class={isMain ? 'gauge-figure is-main' : 'gauge-figure'}>
      <dt>{label}</dt>
      <dd>
        <Tokens value={tokens} />
        {children}
      </dd>
    </div>
  );
}

function difference(provider: number, own: number): string {
  if (own === 0) return '';
  const percent = (100 * (provider - own)) / own;
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(1)} %`;
}

interface ThresholdTickProps {
  readonly tick: Tick;
  readonly left: string;
  readonly isReached: boolean;
}

function ThresholdTick({ tick: { name, tokens, row, isAtEnd }, left, isReached }: ThresholdTickProps) {
  const classes = ['gauge-tick', `row-${row}`, isAtEnd && 'is-at-end', isReached && 'is-reached']
    .filter(Boolean)
    .join(' ');
  return (
    <span
      class={classes}
      style={{ insetInlineStart: left }}
      aria-hidden="true"
      title={`${name}: ${exactNumber(tokens)} tokens`}
    >
      <span class="gauge-tick-label">
        {THRESHOLD_NAMES[name]} <span class="number">{shortTokens(tokens)}</span>
      </span>
    </span>
  );
}

function describe({ window: { usedTokens, maxTokens, freeTokens }, categories }: BreakdownAnswer): string {
  const parts = categories.filter(({ tokens }) => tokens > 0);
  const list = parts.map(({ name, tokens }) => `${CATEGORY_NAMES[name]} ${exactNumber(tokens)}`).join(', ');
  const whole = maxTokens === undefined ? '' : ` of ${exactNumber(maxTokens)}`;
  const free = freeTokens === undefined ? '' : `, ${exactNumber(freeTokens)} free`;
  return `${exactNumber(usedTokens)}${whole} tokens used${free}. ${list}`;
}

type Category = BreakdownAnswer['categories'][number]['name'];
type Threshold = BreakdownAnswer['thresholds'][number]['name'];

export const CATEGORY_NAMES: Readonly<Record<Category, string>> = {
  system: 'System prompt',
  tools: 'Tools',
  pins: 'Pins',
  summaries: 'Summaries',
  user: 'User',
  assistant: 'Assistant',
  reasoning: 'Reasoning',
  calls: 'Tool calls',
  results: 'Tool results',
  masked: 'Masked results',
};

const THRESHOLD_NAMES: Readonly<Record<Threshold, string>> = {
  maxTokens: 'goal',
  tokenThreshold: 'compacts',
  thresholdRatio: 'compacts',
  hardRatio: 'turns wait',
};
