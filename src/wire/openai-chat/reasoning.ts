import type { ProviderHabits } from '../../domain/provider-habits.ts';
import type { ChatAssistantMessage } from './body.ts';
import type { LaidMessage } from './layout.ts';

const TEXT_FIELDS = ['reasoning_content', 'reasoning'] as const;
/** Field in which OpenRouter and MiniMax send reasoning with signatures. */
const DETAILS = 'reasoning_details';

/** Placeholder for a server that requires reasoning in every answer. Some servers refuse an empty text. */
const NOT_RECORDED = '(not recorded)';

/** Gemini accepts this text instead of the signature of a call that another model made. */
const ANY_SIGNATURE = 'skip_thought_signature_validator';

/**
 * Wire rule C7: keeps the reasoning that the server requires. Most require it in the current tool loop only, but
 * DeepSeek, Kimi and Qwen require it in all answers with tool calls.
 */
export function keepReasoning(
  laid: readonly LaidMessage[],
  { reasoning = 'loop', needsReasoning = false, needsSignatures = false }: ProviderHabits,
): LaidMessage[] {
  const start = findLoopStart(laid);
  // If one answer has reasoning, the model requires reasoning of all answers.
  const isFilled = needsReasoning || (reasoning === 'calls' && laid.some(({ message }) => hasText(message)));
  return laid.map((given, index) => {
    const { message } = given;
    if (message.role !== 'assistant') return given;
    const hasCalls = message.tool_calls !== undefined;
    const keepsText = keepsReasoning(reasoning, { hasCalls, isInLoop: index > start });
    const kept = selectReasoning(message, { keepsText, keepsDetails: keepsText || (hasCalls && reasoning !== 'none') });
    const filled = hasCalls && isFilled && !hasText(kept) ? { ...kept, reasoning_content: NOT_RECORDED } : kept;
    return { ...given, message: needsSignatures ? signCalls(filled) : filled };
  });
}

export function keepsReasoning(
  replay: NonNullable<ProviderHabits['reasoning']>,
  { hasCalls, isInLoop }: { readonly hasCalls: boolean; readonly isInLoop: boolean },
): boolean {
  if (replay === 'none') return false;
  return replay === 'all' || isInLoop || (replay === 'calls' && hasCalls);
}

function findLoopStart(laid: readonly LaidMessage[]): number {
  return laid.findLastIndex(
    ({ message, isOfResults }, index) =>
      message.role === 'user' && !(isOfResults === true && laid[index - 1]?.message.role === 'tool'),
  );
}

function hasText(message: object): boolean {
  return TEXT_FIELDS.some((field) => field in message) || DETAILS in message;
}

function selectReasoning(
  message: ChatAssistantMessage,
  { keepsText, keepsDetails }: { readonly keepsText: boolean; readonly keepsDetails: boolean },
): ChatAssistantMessage {
  if (!hasText(message)) return message;
  const hasDetails = DETAILS in message && keepsDetails;
  const fields = Object.entries(message).filter(([name]) => {
    if (name === DETAILS) return keepsDetails;
    if (name === 'reasoning') return keepsText && !hasDetails;
    return name === 'reasoning_content' ? keepsText : true;
  });
  return Object.fromEntries(fields) as unknown as ChatAssistantMessage;
}

/** Gemini requires a signature on the first call of each answer. */
function signCalls(message: ChatAssistantMessage): ChatAssistantMessage {
  const [first, ...others] = message.tool_calls ?? [];
  if (first === undefined || 'extra_content' in first) return message;
  const signed = { ...first, extra_content: { google: { thought_signature: ANY_SIGNATURE } } };
  return { ...message, tool_calls: [signed, ...others] };
}
