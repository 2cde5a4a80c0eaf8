const exact = new Intl.NumberFormat('en-US');

/** Writes a number of tokens with at most five characters: `812`, `9.3k`, `128k`, `1.2M`. */
export function shortTokens(tokens: number): string {
  if (tokens < 1_000) return String(Math.round(tokens));
  if (tokens < 999_500) return `${trim(tokens / 1_000)}k`;
  return `${trim(tokens / 1_000_000)}M`;
}

function trim(value: number): string {
  return value < 10 ? String(Math.round(value * 10) / 10) : String(Math.round(value));
}

export function exactNumber(value: number): string {
  return exact.format(value);
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${exactNumber(count)} ${count === 1 ? one : many}`;
}

/** `7`, `1,204–1,377`. */
export function exactRange({ from, to }: { readonly from: number; readonly to: number }): string {
  return from === to ? exactNumber(from) : `${exactNumber(from)}–${exactNumber(to)}`;
}

export function shortBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 999_500 ? `${trim(bytes / 1_000)} kB` : `${trim(bytes / 1_000_000)} MB`;
}

/** Writes a duration with at most three digits: `41 ms`, `2.4 s`, `3 min`, `5 h`, `2 d`. */
export function shortDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${trim(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

/** Writes a price: `$0.0042`, `$1.37`. */
export function shortPrice(microdollars: number): string {
  const dollars = microdollars / 1_000_000;
  if (dollars === 0) return '$0';
  return `$${dollars.toFixed(dollars < 0.01 ? 5 : dollars < 1 ? 4 : 2)}`;
}

export function Tokens({ value, unit = '' }: { readonly value: number; readonly unit?: string }) {
  return (
    <span class="number" title={`${exact.format(value)} tokens`}>
      {shortTokens(value)}
      {unit}
    </span>
  );
}

interface UsageProps {
  readonly microdollars?: number | undefined;
  readonly inputTokens: number;
  readonly cachedTokens?: number | undefined;
  readonly outputTokens: number;
}

/** Shows price and tokens of model calls: `$0.0042, 9.3k in (8k cached), 312 out`. */
export function Usage({ microdollars, inputTokens, cachedTokens, outputTokens }: UsageProps) {
  return (
    <>
      {microdollars !== undefined && `${shortPrice(microdollars)}, `}
      <Tokens value={inputTokens} /> in
      {cachedTokens !== undefined && (
        <>
          {' '}
          (<Tokens value={cachedTokens} /> cached)
        </>
      )}
      , <Tokens value={outputTokens} /> out
    </>
  );
}

export function Time({ at }: { readonly at: number }) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const text = isToday
    ? date.toLocaleTimeString()
    : date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()} class="number">
      {text}
    </time>
  );
}

export function Ago({ at }: { readonly at: number }) {
  const iso = new Date(at).toISOString();
  return (
    <time dateTime={iso} title={iso} class="number">
      {shortDuration(Math.max(0, Date.now() - at))} ago
    </time>
  );
}
