export interface SummaryCallLimits {
  readonly totalMs: number;
  /** Milliseconds between two events of the stream, and until the first event. */
  readonly silenceMs: number;
}

/** Default of `callTimeout`. A model may read a long input or think for that long before it sends anything. */
const CALL_TIMEOUT_MS = 90_000;
/** Milliseconds per input token: slow providers read 5,000 tokens a second. */
const READ_MS = 0.2;
/** Milliseconds per output token: slow models write 25 tokens a second. */
const WRITE_MS = 40;

/** Time limits of a call. A model that keeps sending gets the time that its output limit needs. */
export function limitSummaryCall(
  { tokens, maxOutputTokens }: { readonly tokens: number; readonly maxOutputTokens: number },
  callTimeoutMs: number = CALL_TIMEOUT_MS,
): SummaryCallLimits {
  const sizeMs = Math.ceil(tokens * READ_MS + maxOutputTokens * WRITE_MS);
  return { totalMs: callTimeoutMs + sizeMs, silenceMs: callTimeoutMs };
}
