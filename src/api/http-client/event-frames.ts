export interface EventFrame {
  /** Position behind the event, if the frame sets one. */
  readonly id?: string;
  readonly type: string;
  /** Absent for a frame that only sets the position or keeps the connection open. */
  readonly data?: string;
}

/** @yields each complete frame, heartbeats included */
export async function* readFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<EventFrame, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let lines: string[] = [];
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const found = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = found.pop() ?? '';
      for (const line of found) {
        if (line !== '') lines.push(line);
        else if (lines.length > 0) {
          yield parseFrame(lines);
          lines = [];
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseFrame(lines: readonly string[]): EventFrame {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    const before = fields.get(name);
    fields.set(name, name === 'data' && before !== undefined ? `${before}\n${value}` : value);
  }
  const [id, data] = [fields.get('id'), fields.get('data')];
  return {
    ...(id !== undefined && { id }),
    type: fields.get('event') ?? 'message',
    ...(data !== undefined && { data }),
  };
}
