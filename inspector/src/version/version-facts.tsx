import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ReportAnswer } from '../../../src/api/contract/inspection.ts';
import { exactNumber, exactRange, shortDuration, Time, Tokens, Usage } from '../parts/figures.tsx';
import { Tag } from '../parts/tag.tsx';
import { SourceDialog } from './source-list.tsx';

interface VersionFactsProps {
  readonly conversation: string;
  readonly report: ReportAnswer;
}

export function VersionFacts({ conversation, report }: VersionFactsProps) {
  const { cause, reasons, at, durationMs, before, after, cost, evicted, shortened } = report;
  return (
    <div class="card facts-card">
      <dl class="facts">
        <Fact name="Made">
          <Time at={at} />
          {durationMs !== undefined && <span class="soft"> in {shortDuration(durationMs)}</span>}
        </Fact>
        <Fact name="By">
          <Tag>{cause}</Tag>
          {reasons.map((reason) => (
            <Tag key={reason} tone="accent">
              {reason.replaceAll('_', ' ')}
            </Tag>
          ))}
        </Fact>
        <Fact name="Messages">
          <span class="number">
            {exactNumber(before.messages)} → {exactNumber(after.messages)}
          </span>
        </Fact>
        <Fact name="Tokens">
          <Tokens value={before.tokens} /> → <Tokens value={after.tokens} />
          <SizeBar share={before.tokens === 0 ? 1 : after.tokens / before.tokens} />
        </Fact>
        <Fact name="Cost">
          {cost === undefined ? (
            <span class="soft">no model wrote a summary</span>
          ) : (
            <Usage {...cost} cachedTokens={cost.cachedTokens || undefined} />
          )}
        </Fact>
        <Ranges name="Evicted" ranges={evicted} conversation={conversation} />
        <Ranges name="Shortened" ranges={shortened} conversation={conversation} />
      </dl>
    </div>
  );
}

export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function SizeBar({ share }: { readonly share: number }) {
  return (
    <span class="size-bar" aria-hidden="true">
      <span class="size-bar-part" style={{ inlineSize: `${Math.min(100, Math.round(share * 100))}%` }} />
    </span>
  );
}

interface RangesProps {
  readonly name: string;
  readonly ranges: readonly { readonly from: number; readonly to: number }[];
  readonly conversation: string;
}

/** Ranges that are shown at first, and that each click adds. A version may have thousands of ranges. */
const FIRST = 12;
const MORE = 200;

function Ranges({ name, ranges, conversation }: RangesProps) {
  const [opened, setOpened] = useState<{ readonly from: number; readonly to: number }>();
  const [count, setCount] = useState(FIRST);
  if (ranges.length === 0) return null;
  return (
    <Fact name={name}>
      <span class="ranges">
        {ranges.slice(0, count).map((range) => (
          <button
            key={range.from}
            type="button"
            class="chip number"
            title="Show these messages"
            onClick={() => setOpened(range)}
          >
            {exactRange(range)}
          </button>
        ))}
        {ranges.length > count && (
          <button type="button" class="button" onClick={() => setCount(count + MORE)}>
            and {exactNumber(ranges.length - count)} more
          </button>
        )}
      </span>
      {opened !== undefined && (
        <SourceDialog conversation={conversation} range={opened} onClose={() => setOpened(undefined)} />
      )}
    </Fact>
  );
}
