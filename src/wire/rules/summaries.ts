import type { Breach, RuleContext } from './rule.ts';
import { type BodyView, NO_POSITION } from './view.ts';

/** The opening tag of a summary as it is rendered. */
const SUMMARY = /^\s*<summary\s[^<>]*\bmessages="\d+-\d+"/;

/**
 * X11: a summary is the user's, never system's, and neither first nor last as assistant. One that an assistant quotes
 * between them is no breach: a model may well repeat what it read.
 */
export function* keepsSummariesWithUser(view: BodyView, { isProbed }: RuleContext): Generator<Breach> {
  const { messages, texts } = view;
  const first = messages.findIndex(({ author }) => author !== 'system');
  const last = isProbed === true ? undefined : messages.length - 1;
  for (const { path, text, position } of texts) {
    const author = position === NO_POSITION ? 'system' : messages[position]?.author;
    const isEnd = position === first || position === last;
    if (author !== 'system' && !(author === 'assistant' && isEnd)) continue;
    if (SUMMARY.test(text)) yield { path, message: `a summary in a message of the ${author}: expected the user's` };
  }
}
