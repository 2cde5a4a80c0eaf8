export interface SummaryCallLimits {
  readonly totalMs: number;
  /** Between two events of the stream, and until the first one. */
  readonly silenceMs: number;
}

/** Default of `callTimeout`. A model may read a long input or think for that long before it sends anything. */
const CALL_TIMEOUT_MS = 90_000;
/** 5,000 tokens a second, at which slow providers read. */
const READ_MS = 0.2;
/** 25 tokens a second, at which slow models write. */
const WRITE_MS = 40;

/** A model that keeps sending gets the time that its output limit needs. */
export function limitSummaryCall(
  { tokens, maxOutputTokens }: { readonly tokens: number; readonly maxOutputTokens: number },
  callTimeoutMs: number = CALL_TIMEOUT_MS,
): SummaryCallLimits {
  const sizeMs = Math.ceil(tokens * READ_MS + maxOutputTokens * WRITE_MS);
  return { totalMs: callTimeoutMs + sizeMs, silenceMs: callTimeoutMs };
}
