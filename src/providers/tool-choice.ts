import type { ModelRequest } from '../domain/model.ts';
import type { ToolChoice } from '../domain/model-options.ts';

type Forced = Exclude<ToolChoice, 'auto' | 'none'>;

export function isForced(choice: ToolChoice): choice is Forced {
  return choice !== 'auto' && choice !== 'none';
}

/**
 * True if the choice holds for this request. A model that must always call a tool never ends its turn. So a call is
 * forced only in the answer to a message, and not in the answer to a tool result. A call is not forced either if the
 * request lacks the tool, or asks for a summary.
 */
export function holdsFor(choice: ToolChoice, { messages, tools, isSummary }: ModelRequest): boolean {
  if (!isForced(choice)) return true;
  if (isSummary === true) return false;
  const isPresent = choice === 'required' || tools.some(({ name }) => name === choice.tool);
  return isPresent && messages.at(-1)?.role !== 'tool';
}
