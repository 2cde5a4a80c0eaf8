import * as ai7 from 'ai';
import * as ai5 from 'ai5';
import * as ai6 from 'ai6';

/** The packages differ in types that this test does not use. */
const SDKS = { 5: ai5 as unknown as typeof ai7, 6: ai6 as unknown as typeof ai7, 7: ai7 };
export type Sdk = keyof typeof SDKS;

interface PageOptions {
  readonly sdk: Sdk;
  readonly url: string;
  readonly id: string;
  readonly messages?: ai7.UIMessage[];
  /** Does the page name its version to the server? */
  readonly isNamed?: boolean;
  readonly sendsAutomatically?: boolean;
  readonly fetch?: typeof fetch;
}

/** The chat of `useChat`, without React: its state is a list of messages. */
export function openPage({
  sdk,
  url,
  id,
  messages = [],
  isNamed = true,
  sendsAutomatically = true,
  fetch,
}: PageOptions) {
  const {
    AbstractChat,
    DefaultChatTransport,
    lastAssistantMessageIsCompleteWithToolCalls: hasResults,
    lastAssistantMessageIsCompleteWithApprovalResponses: hasApprovals,
  } = SDKS[sdk];
  const state: ai7.ChatState<ai7.UIMessage> = {
    status: 'ready',
    error: undefined,
    messages: [...messages],
    pushMessage: (message) => void (state.messages = [...state.messages, message]),
    popMessage: () => void (state.messages = state.messages.slice(0, -1)),
    replaceMessage: (index, message) => void (state.messages = state.messages.with(index, structuredClone(message))),
    snapshot: (value) => structuredClone(value),
  };
  const data: { type: string; data: unknown }[] = [];
  const errors: Error[] = [];
  class Page extends AbstractChat<ai7.UIMessage> {}
  const chat = new Page({
    id,
    state,
    transport: new DefaultChatTransport({
      api: `${url}/v1/chat`,
      ...(isNamed && { headers: { 'x-ai-sdk-version': String(sdk) } }),
      ...(fetch && { fetch }),
    }),
    onData: (part) => data.push(part),
    onError: (error) => errors.push(error),
    ...(sendsAutomatically && {
      sendAutomaticallyWhen: (all: { messages: ai7.UIMessage[] }) => hasResults(all) || (hasApprovals?.(all) ?? false),
    }),
  });
  return { chat, data, errors };
}

/** A `fetch` that sends an access key. */
export function fetchWithKey(token: string): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
}

export type Page = ReturnType<typeof openPage>;

/** Text of each step of a message, as a page shows it: without the steps that were restarted. */
export function textsOf(message: ai7.UIMessage | undefined, type: 'text' | 'reasoning' = 'text'): string[] {
  const steps: ai7.UIMessage['parts'][] = [];
  for (const part of message?.parts ?? []) {
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  const valid = steps.filter((step) => !step.some((part) => part.type === 'data-restart'));
  return valid.map((step) => step.map((part) => (part.type === type ? part.text : '')).join(''));
}

export interface ShownCall {
  readonly toolCallId: string;
  readonly state: string;
  readonly output?: unknown;
  readonly approval?: { readonly id: string };
}

export function callsOf(message: ai7.UIMessage | undefined): ShownCall[] {
  return (message?.parts ?? []).flatMap((part) => (part.type === 'dynamic-tool' ? [part as ShownCall] : []));
}
