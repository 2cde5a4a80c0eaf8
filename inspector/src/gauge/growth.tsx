import type { BreakdownAnswer } from '../../../src/api/contract/inspection.ts';
import { shortTokens } from '../parts/figures.tsx';
import { LinePlot, type PlotPoint } from '../parts/line-plot.tsx';
import type { Version } from '../shell/answers.ts';
import { linkTo } from '../shell/router.ts';

export interface GrowthProps {
  readonly conversation: string;
  readonly versions: readonly Version[];
  readonly breakdown: BreakdownAnswer;
}

/** The size of the context over the log. Each version is a step, and a link to what it did. */
export function Growth({ conversation, versions, breakdown: { head, window, thresholds } }: GrowthProps) {
  if (head === 0) return null;
  const points: PlotPoint[] = [
    { x: 0, y: 0 },
    ...versions.flatMap(({ measuredAt, tokensBefore, tokensAfter }) => [
      { x: measuredAt.head, y: tokensBefore },
      { x: measuredAt.head, y: tokensAfter },
    ]),
    { x: head, y: window.usedTokens },
  ];
  const marks = versions.map(({ number, measuredAt, tokensBefore, tokensAfter }) => ({
    x: measuredAt.head,
    label: `Version ${number}, after message ${measuredAt.head}: ${shortTokens(tokensBefore)} → ${shortTokens(tokensAfter)} tokens`,
    href: linkTo('c', conversation, 'v', number),
  }));
  const levels = thresholds.map(({ name, tokens }) => ({ y: tokens, label: `${name}: ${shortTokens(tokens)} tokens` }));
  return (
    <section class="card growth" aria-label="Size over the log">
      <h2>Size over the log</h2>
      <LinePlot
        label={`Size of the context in tokens over ${head} messages, with ${versions.length} versions`}
        points={points}
        marks={marks}
        levels={levels}
        unit="messages"
      />
    </section>
  );
}
