import './strip.css';
import { layOutRuns, type Run } from './plan-strip.ts';

interface StripProps<Kind extends string> {
  readonly name: string;
  readonly summary: string;
  readonly runs: readonly Run<Kind>[];
  readonly weigh: (run: Run<Kind>) => number;
}

/** Draws runs of messages as a bar. A screen reader gets `summary` instead, and the list beside the bar. */
export function Strip<Kind extends string>({ name, summary, runs, weigh }: StripProps<Kind>) {
  return (
    <div class="strip">
      <p class="strip-name" aria-hidden="true">
        {name}
      </p>
      <div class="strip-bar" role="img" aria-label={`${name}: ${summary}`}>
        {layOutRuns(runs, weigh).map(({ kind, start, size }) => (
          <span
            key={start}
            class={`strip-block fate-${kind}`}
            style={{ insetInlineStart: `${start * 100}%`, inlineSize: `${size * 100}%` }}
          />
        ))}
      </div>
    </div>
  );
}
