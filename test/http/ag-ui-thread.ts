export type AgUiEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface Interrupt {
  readonly id: string;
  readonly toolCallId: string;
}

/** Fields that a client of AG-UI 1.0 always sends. */
const EMPTY_INPUT = { protocolVersion: '1.0', tools: [], context: [], state: {}, forwardedProps: {}, messages: [] };

/** The routes of AG-UI on a server, as a front-end calls them. */
export function openThreads(url: string) {
  const post = async (path: string, body: object, left?: AbortSignal): Promise<Response> =>
    await fetch(`${url}${path}`, {
      ...(left && { signal: left }),
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const start = async (body: object, left?: AbortSignal): Promise<Response> =>
    await post('/v1/ag-ui', { ...EMPTY_INPUT, ...body }, left);
  /** Runs to the end, and returns the events. */
  const run = async (body: object): Promise<AgUiEvent[]> => readEvents(await (await start(body)).text());
  /** Runs until the run is interrupted. */
  const interrupt = async (threadId: string, input: string, runId = 'r1'): Promise<Interrupt[]> => {
    const last = (await run({ threadId, runId, messages: [user('m1', input)] })).at(-1);
    const { outcome } = last as unknown as { outcome: { interrupts: Interrupt[] } };
    return outcome.interrupts;
  };
  const stop = async (body: object): Promise<Response> => await post('/v1/ag-ui/stop', body);
  return { start, run, interrupt, stop };
}

function readEvents(text: string): AgUiEvent[] {
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: '));
  return frames.map((frame) => JSON.parse(frame.slice(6)) as AgUiEvent);
}

export const user = (id: string, content: string) => ({ id, role: 'user', content });

export const textOf = (events: readonly AgUiEvent[]): string =>
  events.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? delta : '')).join('');

/** The assistant message of the first step of the run r1, with its calls. */
export function callsOf(name: string, calls: readonly string[]) {
  const toolCalls = calls.map((id) => ({ id, type: 'function', function: { name, arguments: '{"place":"here"}' } }));
  return { id: 'r1/1', role: 'assistant', content: 'One moment.', toolCalls };
}
