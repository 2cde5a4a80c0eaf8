import { type Answer, type AnswerPart, cutText, newId } from '../answer.ts';
import type { RenderedAnswer } from '../dialect.ts';
import type { Issued } from '../issued.ts';
import type { JsonObject } from '../json.ts';
import { hash } from '../seals.ts';

const FINISH_REASONS = {
  complete: 'STOP',
  cut_off: 'MAX_TOKENS',
  refusal: 'SAFETY',
  window_full: 'MAX_TOKENS',
  paused: 'STOP',
} as const satisfies Record<Answer['end'], string>;

/** Returns the signature of a function call, which is valid for its name and arguments. */
export function signCall(name: unknown, args: unknown): string {
  return `Ct${hash('call', JSON.stringify([name, args]))}`;
}

/** Writes an answer as one event for each part. Only the first of parallel calls is signed, as Gemini 3 does. */
export function renderGemini(answer: Answer, request: JsonObject, issued: Issued): RenderedAnswer {
  const head = { modelVersion: request['model'], responseId: newId('') };
  const parts = answer.parts.flatMap(writePart);
  const first = parts.findIndex((part) => 'functionCall' in part);
  const signed = parts.map((part, index) => (index === first ? { ...part, ...signatureOf(part) } : part));
  for (const part of signed) issued.recordReasoning([String(part['thoughtSignature'])], 'signed');
  const say = (given: readonly JsonObject[], end: JsonObject = {}): JsonObject => ({
    candidates: [{ content: { role: 'model', parts: given }, index: 0, ...end }],
    ...head,
  });
  const { usage } = answer;
  const usageMetadata = {
    promptTokenCount: usage.input,
    cachedContentTokenCount: usage.cachedInput,
    candidatesTokenCount: usage.output - usage.thinking,
    thoughtsTokenCount: usage.thinking,
    totalTokenCount: usage.input + usage.output,
  };
  const end = { finishReason: FINISH_REASONS[answer.end] };
  const last = { ...say([{ text: '' }], end), usageMetadata };
  return {
    body: { ...say(signed, end), usageMetadata },
    events: [...signed.map((part) => ({ data: say([part]) })), { data: last }],
  };
}

function writePart(part: AnswerPart): JsonObject[] {
  if ('thinking' in part) return cutText(part.thinking).map((text) => ({ text, thought: true }));
  if ('text' in part) return cutText(part.text).map((text) => ({ text }));
  return 'call' in part ? [{ functionCall: { name: part.call.name, args: part.call.input } }] : [];
}

function signatureOf(part: JsonObject): JsonObject {
  const { name, args } = part['functionCall'] as { name: string; args: unknown };
  return { thoughtSignature: signCall(name, args) };
}
