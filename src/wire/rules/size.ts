import type { Breach, RuleContext } from './rule.ts';
import type { BodyView } from './view.ts';

/**
 * X9: the request fits the window in tokens and the provider's cap in bytes, where the context says them, and holds no more
 * messages and tools than the provider takes.
 */
export function* fits(view: BodyView, context: RuleContext): Generator<Breach> {
  const { written } = view;
  const { tokens, usableTokens, maxBytes } = context;
  if (context.isUncapped !== true) yield* countsWithin(view);
  if (tokens !== undefined && usableTokens !== undefined && tokens > usableTokens) {
    yield { path: '', message: `${tokens} tokens of ${usableTokens} usable` };
  }
  if (maxBytes === undefined) return;
  const bytes = written?.bytes ?? Number.POSITIVE_INFINITY;
  if (bytes > maxBytes) yield { path: '', message: `${bytes} bytes of at most ${maxBytes}` };
}

function* countsWithin({ messages, tools, maxMessages, maxTools }: BodyView): Generator<Breach> {
  if (maxMessages !== undefined && messages.length > maxMessages) {
    yield { path: '', message: `${messages.length} messages of at most ${maxMessages}` };
  }
  if (maxTools !== undefined && tools.length > maxTools) {
    yield { path: '', message: `${tools.length} tools of at most ${maxTools}` };
  }
}
